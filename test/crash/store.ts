import type { Storage, StorageRegistration, WorkflowInstance } from 'nestjs-millrace/storage';
import { isTerminal, JOB_STATES, type JobDetails, SystemClock } from 'nestjs-millrace/storage';
import { postgresStorage } from 'nestjs-millrace/postgres';
import { sqliteStorage } from 'nestjs-millrace/sqlite';

/** Where a run keeps its jobs; travels to the processes as JSON. */
export type StoreAddress =
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string }
  | { readonly kind: 'sqlite'; readonly database: string };

export function registrationOf(address: StoreAddress): StorageRegistration {
  if (address.kind === 'sqlite') return sqliteStorage({ database: address.database });
  return postgresStorage({ url: address.url, schema: address.schema });
}

const silent = { error: console.error, warn: console.warn, log: () => undefined, debug: () => undefined };

/** Looks at the store from outside of every worker. */
export class StoreObserver implements AsyncDisposable {
  private constructor(private readonly storage: Storage) {}

  static async open(address: StoreAddress): Promise<StoreObserver> {
    const storage = registrationOf(address).create({ clock: new SystemClock(), logger: silent, lockTimeout: 5_000 });
    await storage.open();
    return new StoreObserver(storage);
  }

  /** Jobs and instances that have not ended. */
  async unfinished(): Promise<number> {
    const { jobsByState, instancesByState } = await this.storage.monitoring.getStatistics();
    const jobs = JOB_STATES.filter((state) => !isTerminal(state)).map((state) => jobsByState[state]);
    return [...jobs, instancesByState.Running, instancesByState.Suspended].reduce((sum, count) => sum + count, 0);
  }

  async everyInstance(): Promise<WorkflowInstance[]> {
    const { monitoring, workflows } = this.storage;
    const instances: WorkflowInstance[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof monitoring.queryInstances>> = await monitoring.queryInstances({
        cursor,
        limit: 200,
      });
      instances.push(...(await workflows.getInstances(page.items.map(({ id }) => id))));
      cursor = page.nextCursor;
    } while (cursor !== null);
    return instances;
  }

  async everyJob(): Promise<JobDetails[]> {
    const jobs: JobDetails[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<Storage['monitoring']['queryJobs']>> = await this.storage.monitoring.queryJobs({
        cursor,
        limit: 200,
      });
      for (const { id } of page.items) {
        const job = await this.storage.monitoring.getJobDetails(id);
        if (job) jobs.push(job);
      }
      cursor = page.nextCursor;
    } while (cursor !== null);
    return jobs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.storage.close();
  }
}
