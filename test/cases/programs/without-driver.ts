import { SystemClock } from 'nestjs-millrace/storage';
import { registrationOf, type StoreAddress } from '../../support/store-address';

// Opens a store in a process where some packages are not installed, and writes what comes of it.

type Resolver = Record<'_resolveFilename', (request: string, ...rest: unknown[]) => string>;

const { store, hidden } = JSON.parse(process.env['MILLRACE_PROGRAM']!) as {
  store: StoreAddress;
  hidden: readonly string[];
};
const resolver = require('node:module') as Resolver;
const { _resolveFilename: resolve } = resolver;
resolver['_resolveFilename'] = function (request, ...rest) {
  if (!hidden.includes(request)) return resolve.call(this, request, ...rest);
  throw Object.assign(new Error(`Cannot find module '${request}'`), { code: 'MODULE_NOT_FOUND' });
};

const silent = { error: () => undefined, warn: () => undefined, log: () => undefined, debug: () => undefined };

async function open(): Promise<unknown> {
  const storage = registrationOf(store).create({ clock: new SystemClock(), logger: silent, lockTimeout: 5_000 });
  await storage.open();
  await storage.close();
  return 'opened';
}

void open()
  .catch((error: unknown) => ({ code: (error as { code?: unknown }).code, message: String(error) }))
  .then((outcome) => console.log(JSON.stringify(outcome)));
