import type { DataSource } from 'typeorm';

interface ErrorSource {
  on(event: 'error', listener: () => void): unknown;
}

type ClientClass = new (config: object) => ErrorSource;

// TypeORM listens to the errors of a connection a few microtasks after the pool has opened it. A server that shuts down may
// send its farewell together with its greeting: the error would find no listener, and end the process. It is not lost:
// whoever uses the connection next meets it.
const unheard = (): void => undefined;

/** The driver's client, for a pool of Millrace's own: its connections are listened to from the beginning. */
export function guardedClient(Client: ClientClass): ClientClass {
  return class extends Client {
    constructor(config: object) {
      super(config);
      this.on('error', unheard);
    }
  };
}

/** The same for the pool of the application's data source, from now on. */
export function guardPool(dataSource: DataSource): void {
  const { master } = dataSource.driver as unknown as {
    master?: { on?(event: 'connect', listener: (client: ErrorSource) => void): unknown };
  };
  master?.on?.('connect', (client) => client.on('error', unheard));
}
