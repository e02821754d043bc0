import { conformanceEnvironment, type FakeClock, type StorageHarness } from 'nestjs-millrace/conformance';
import { IClock, type Storage, type StorageEnvironment, type StorageRegistration } from 'nestjs-millrace/storage';
import type { DataSource } from 'typeorm';
import { beginTransaction } from './application';
import { Disposables } from './disposables';

/** What database servers differ in, as far as these tests see it. */
export interface ServerKind {
  register(url: string, schema: string): StorageRegistration;
  connect(url: string): Promise<DataSource>;
  dropSchema(dataSource: DataSource, schema: string): Promise<void>;
  dropDatabase(dataSource: DataSource, name: string): Promise<void>;
}

const MAIN = 'conformance';
const ELSEWHERE = 'millrace_conformance_elsewhere';

/**
 * One schema for all facts of a spec file: it is emptied between them, and its two nodes stay open, since opening a store
 * costs more than most facts. Whatever else a fact needs is made for it and removed after it.
 */
export class ServerDatabase {
  private readonly clock = new SwitchedClock();
  private readonly shared = new Disposables();
  private schemas = 0;
  private nodes: Promise<readonly [Storage, Storage]> | undefined;
  private application: Promise<DataSource> | undefined;
  private elsewhere: Promise<DataSource> | undefined;

  constructor(
    private readonly kind: ServerKind,
    private readonly url: string,
  ) {}

  async harness(clock: FakeClock): Promise<StorageHarness> {
    this.clock.current = clock;
    const disposables = new Disposables();
    const [storage, second] = await (this.nodes ??= this.openNodes());
    await this.clear();
    return {
      storage,
      another: async (deviations) => (deviations ? this.open(this.url, MAIN, disposables, deviations) : second),
      unopened: (count) => Promise.resolve(this.createUnopened(count, disposables)),
      transactions: {
        begin: async () => beginTransaction(await this.connect(), disposables),
        beginElsewhere: async () => beginTransaction(await (this.elsewhere ??= this.openElsewhere()), disposables),
      },
      dispose: () => disposables.dispose(),
    };
  }

  close(): Promise<void> {
    return this.shared.dispose();
  }

  private connect(): Promise<DataSource> {
    return (this.application ??= this.connectTo(this.url));
  }

  private async connectTo(url: string): Promise<DataSource> {
    const dataSource = await this.kind.connect(url);
    this.shared.add(() => dataSource.destroy());
    return dataSource;
  }

  private async openNodes(): Promise<readonly [Storage, Storage]> {
    const dataSource = await this.connect();
    await this.kind.dropSchema(dataSource, MAIN); // what a run that was killed left behind
    this.shared.add(() => this.kind.dropSchema(dataSource, MAIN));
    return [await this.open(this.url, MAIN, this.shared), await this.open(this.url, MAIN, this.shared)];
  }

  private async openElsewhere(): Promise<DataSource> {
    const dataSource = await this.connect();
    await this.kind.dropDatabase(dataSource, ELSEWHERE);
    await dataSource.query(`create database ${ELSEWHERE}`);
    this.shared.add(() => this.kind.dropDatabase(dataSource, ELSEWHERE));
    const url = new URL(this.url);
    url.pathname = `/${ELSEWHERE}`;
    await this.open(url.href, MAIN, this.shared);
    return this.connectTo(url.href);
  }

  private async open(
    url: string,
    schema: string,
    disposables: Disposables,
    deviations?: Partial<StorageEnvironment>,
  ): Promise<Storage> {
    const environment = conformanceEnvironment(this.clock, deviations);
    const storage = this.kind.register(url, schema).create(environment);
    disposables.add(() => storage.close());
    await storage.open();
    return storage;
  }

  private createUnopened(count: number, disposables: Disposables): Storage[] {
    const schema = `${MAIN}_unopened_${++this.schemas}`;
    disposables.add(async () => this.kind.dropSchema(await this.connect(), schema));
    return Array.from({ length: count }, () => {
      const storage = this.kind.register(this.url, schema).create(conformanceEnvironment(this.clock));
      disposables.add(() => storage.close());
      return storage;
    });
  }

  /** Deletes every row but the ledger's: much faster than to truncate tables that hold next to nothing. */
  private async clear(): Promise<void> {
    const dataSource = await this.connect();
    const tables = await tablesOf(dataSource, MAIN);
    const emptied = tables.filter((table) => table !== 'ledger').map((table) => `delete from ${MAIN}.${table}`);
    await dataSource.query(emptied.join('; '));
  }
}

export async function tablesOf(dataSource: DataSource, schema: string): Promise<string[]> {
  const rows: { name: string }[] = await dataSource.query(
    `select table_name as name from information_schema.tables where table_schema = '${schema}' and table_type = 'BASE TABLE'`,
  );
  return rows.map(({ name }) => name);
}

/** The clock of whichever fact runs. */
class SwitchedClock extends IClock {
  current: IClock | undefined;

  override now(): Date {
    if (!this.current) throw new Error('No fact has set the clock yet.');
    return this.current.now();
  }
}
