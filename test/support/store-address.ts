import { inMemoryStorage, type Storage, type StorageRegistration } from 'nestjs-millrace/storage';
import { sqlServerStorage } from 'nestjs-millrace/mssql';
import { postgresStorage } from 'nestjs-millrace/postgres';
import { sqliteStorage } from 'nestjs-millrace/sqlite';

/** Where a test keeps its jobs; travels to other processes as it is. */
export type StoreAddress =
  | { readonly kind: 'memory'; readonly name: string }
  | { readonly kind: 'sqlite'; readonly database: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string }
  | { readonly kind: 'mssql'; readonly url: string; readonly schema: string };

export type StoreKind = StoreAddress['kind'];

/** Settings of a provider that some tests are about. */
export interface StoreSettings {
  readonly poolSize?: number;
  readonly busyTimeout?: number;
  /** Sent with each connection to PostgreSQL, for example `-c TimeZone=Asia/Tokyo`. */
  readonly sessionOptions?: string;
}

/** Tests look at what happens, so nothing waits longer than it must. */
export const QUICK = { schedulerInterval: 50, minPollDelay: 20, maxPollDelay: 100 } as const;

export function registrationOf(address: StoreAddress, settings: StoreSettings = {}): StorageRegistration {
  const { poolSize, busyTimeout, sessionOptions } = settings;
  switch (address.kind) {
    case 'memory':
      return memoryOf(address.name);
    case 'sqlite':
      return sqliteStorage({ database: address.database, ...(busyTimeout !== undefined && { busyTimeout }) });
    case 'postgres':
      return postgresStorage({
        url: address.url,
        schema: address.schema,
        ...(poolSize !== undefined && { poolSize }),
        ...(sessionOptions !== undefined && { extra: { options: sessionOptions } }),
      });
    case 'mssql':
      return sqlServerStorage({
        url: address.url,
        schema: address.schema,
        ...(poolSize !== undefined && { poolSize }),
      });
  }
}

const memories = new Map<string, Storage>();

/** Memory that outlives the nodes of a test, as a database does. The clock is that of the first node. */
function memoryOf(name: string): StorageRegistration {
  const registration = inMemoryStorage();
  return {
    provider: registration.provider,
    create(environment) {
      const storage = memories.get(name) ?? registration.create(environment);
      memories.set(name, storage);
      const { jobs, workflows, monitoring, notifier } = storage;
      const shared = { open: () => storage.open(), getInfo: () => storage.getInfo(), close: async () => undefined };
      return { jobs, workflows, monitoring, notifier, ...shared };
    },
  };
}
