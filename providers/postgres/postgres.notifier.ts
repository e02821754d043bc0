import { IStorageNotifier, type StorageLogger, type StorageSignal } from '../../lib/storage';
import { channelOf } from './postgres.channel';

/** What the notifier uses of a client of the `pg` package that is its own. */
export interface ListeningClient {
  connect(): Promise<unknown>;
  query(text: string): Promise<unknown>;
  end(): Promise<void>;
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): unknown;
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
  removeAllListeners(): unknown;
}

const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 10_000;

/**
 * LISTEN on a connection of its own, never one of the pool. A lost connection is made again with back-off, and counts as
 * a wake-up when it is back: signals may have been missed meanwhile.
 */
export class PostgresNotifier extends IStorageNotifier {
  private readonly listeners = new Set<(signal: StorageSignal) => void>();
  private readonly channel: string;
  private client: ListeningClient | null = null;
  private timer: NodeJS.Timeout | undefined;
  private pause = FIRST_PAUSE;
  private closed = true;

  constructor(
    private readonly createClient: () => ListeningClient,
    schema: string,
    private readonly logger: StorageLogger,
  ) {
    super();
    this.channel = channelOf(schema);
  }

  override subscribe(listener: (signal: StorageSignal) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Starts listening. Never fails: without a connection workers poll, and it goes on trying. */
  async open(): Promise<void> {
    this.closed = false;
    await this.connect();
  }

  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    const client = this.client;
    this.client = null;
    await client?.end().catch(() => undefined);
  }

  private async connect(): Promise<void> {
    const client = this.createClient();
    client.on('notification', ({ payload = '' }) => this.receive(payload));
    client.on('error', (error) => this.lost(client, error?.message ?? 'unknown error'));
    client.on('end', () => this.lost(client, 'the server closed it'));
    this.client = client;
    try {
      await client.connect();
      await client.query(`listen "${this.channel}"`);
      if (this.pause > FIRST_PAUSE) this.logger.log('Listening for wake-ups again.');
      this.pause = FIRST_PAUSE;
      this.publish({ kind: 'reconnected' });
    } catch (error) {
      this.lost(client, error instanceof Error ? error.message : String(error));
    }
  }

  private lost(client: ListeningClient, reason: string): void {
    if (this.closed || this.client !== client) return;
    this.client = null;
    client.removeAllListeners();
    client.on('error', () => undefined); // a socket may still report what the first error was about
    void client.end().catch(() => undefined);
    // Once per outage; polling goes on meanwhile.
    if (this.pause === FIRST_PAUSE)
      this.logger.warn(`Lost the connection that listens for wake-ups (${reason}); polling.`);
    this.timer = setTimeout(() => void this.connect(), this.pause);
    this.timer.unref();
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE);
  }

  private receive(payload: string): void {
    const rest = payload.slice(1);
    if (payload.startsWith('r')) this.publish({ kind: 'ready', queue: rest });
    else if (payload.startsWith('c')) this.publish({ kind: 'cancel', id: rest });
  }

  private publish(signal: StorageSignal): void {
    for (const listener of this.listeners) listener(signal);
  }
}
