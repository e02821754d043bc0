import { createConnection, createServer, type Server, type Socket } from 'node:net';

/** The request that commits a transaction, as it goes over the wire. */
export const COMMIT = '\u000bcommit\u0000';

/** A stretch of network between Millrace and a PostgreSQL server that a test can cut. */
export class TcpProxy implements AsyncDisposable {
  private readonly server: Server;
  private readonly pairs = new Set<readonly [client: Socket, server: Socket]>();
  private open = true;
  private lost: { readonly request: string; hits: number } | null = null;

  private constructor(private readonly target: { readonly host: string; readonly port: number }) {
    this.server = createServer((client) => this.join(client));
  }

  static async start(targetUrl: string): Promise<TcpProxy> {
    const { hostname, port } = new URL(targetUrl);
    const proxy = new TcpProxy({ host: hostname, port: Number(port || 5432) });
    await new Promise<void>((resolve) => proxy.server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** The address of the target, by way of this proxy. */
  urlOf(targetUrl: string): string {
    const url = new URL(targetUrl);
    url.hostname = '127.0.0.1';
    url.port = String((this.server.address() as { port: number }).port);
    return url.href;
  }

  /** Ends every connection, and refuses new ones until {@link mend}. */
  cut(): void {
    this.open = false;
    this.endAll();
  }

  mend(): void {
    this.open = true;
  }

  /** Lets the next request with this text through, and cuts its connection when the server has answered it. */
  loseAnswerTo(request: string): void {
    this.lost = { request, hits: 0 };
  }

  /** Whether an answer was lost since {@link loseAnswerTo}. */
  get hasLostAnswer(): boolean {
    return this.lost !== null && this.lost.hits > 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.endAll();
    await closed;
  }

  private endAll(): void {
    for (const [client, server] of this.pairs) {
      client.destroy();
      server.destroy();
    }
  }

  private join(client: Socket): void {
    client.on('error', () => undefined);
    if (!this.open) {
      client.destroy();
      return;
    }
    const server = createConnection(this.target);
    server.on('error', () => undefined);
    const pair = [client, server] as const;
    this.pairs.add(pair);
    let dropsAnswer = false;
    client.on('data', (data) => {
      const { lost } = this;
      if (lost !== null && lost.hits === 0 && data.includes(lost.request)) {
        lost.hits++;
        dropsAnswer = true;
      }
      server.write(data);
    });
    server.on('data', (data) => {
      if (dropsAnswer) client.destroy();
      else client.write(data);
    });
    for (const [one, other] of [pair, [server, client] as const]) {
      one.on('close', () => {
        this.pairs.delete(pair);
        other.destroy();
      });
    }
  }
}
