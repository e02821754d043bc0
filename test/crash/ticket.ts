/** The argument of every job of the crash test: what it shall do, and so what must have become of it. */
export interface Ticket {
  /** Number of the plan's item that it belongs to. */
  readonly item: number;
  /** How long it works, in milliseconds. */
  readonly work: number;
  /** It throws this often before it succeeds. */
  readonly failures?: number;
  /** `dies` always throws, `cancelled` is cancelled long before it is due, `kills` ends its process. Default: it succeeds. */
  readonly fate?: 'dies' | 'cancelled' | 'kills';
  /** How many jobs it enqueues with its success. */
  readonly followUps?: number;
  /** Set on those: the job that enqueued it, and its number among them. */
  readonly followUpOf?: { readonly job: string; readonly index: number };
  /** Set on the members of one `enqueueBatch` call: all of them exist, or none. */
  readonly batch?: { readonly call: string; readonly size: number };
}
