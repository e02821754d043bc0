/** The document of a journey: what it shall meet with, and what its steps have noted. */
export interface Journey {
  /** Number of the plan's item that it belongs to. */
  readonly item: number;
  /** How long each step works, in milliseconds. */
  readonly work: number;
  /** Parcels that its loop goes over, one iteration each. */
  readonly parcels: readonly number[];
  /** Takes the way round that has a delay on it. */
  readonly detour: boolean;
  /** Name of the step that fails for good, and in which iteration where it is one of a loop; null for a good end. */
  readonly failsAt: { readonly step: string; readonly iteration: number } | null;
  /** Steps that fail once before they succeed. */
  readonly stumbles: readonly string[];
  /** `signalled` journeys are waited for by the sender of their signal; the wait of the others expires. */
  readonly handover: 'signalled' | 'expired';
  /** Written by the wait. */
  received: boolean;
  /** Written by every step under a property of its own: how often it has succeeded. */
  readonly notes: Record<string, number>;
}

/** Correlation id of a journey's wait. */
export function keyOf({ item }: Pick<Journey, 'item'>): string {
  return `journey-${item}`;
}
