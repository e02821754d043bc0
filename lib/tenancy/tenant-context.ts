import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * The ambient tenant: captured by every enqueue, restored around every execution. Pass your own as `tenants` to take the
 * tenant from elsewhere, for example from nestjs-cls.
 */
export abstract class ITenantContext {
  /** The tenant of the running code; null where there is none, which is a scope of its own and not a wildcard. */
  abstract current(): string | null;

  /** Runs `work` under a tenant; null masks an outer one. The previous tenant is back when `work` returns, throws or settles. */
  abstract run<T>(tenant: string | null, work: () => T): T;
}

/** The default: an AsyncLocalStorage. */
export class AsyncLocalTenantContext extends ITenantContext {
  private readonly storage = new AsyncLocalStorage<string | null>();

  override current(): string | null {
    return this.storage.getStore() ?? null;
  }

  override run<T>(tenant: string | null, work: () => T): T {
    // Without tenants the storage is never put to use, and what is not in use costs nothing.
    return tenant === this.current() ? work() : this.storage.run(tenant, work);
  }
}
