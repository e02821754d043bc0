import { SystemClock } from 'nestjs-millrace/storage';
import { registrationOf, type StoreAddress } from '../../support/store-address';

// Opens a store on an empty database, and is killed when it is about to create the last table of the schema.

type Prototype = Record<string, (this: unknown, ...args: unknown[]) => unknown>;

function killAtLastTable(prototype: Prototype, method: string): void {
  const original = prototype[method]!;
  prototype[method] = function (...args) {
    const [statement] = args as [string | { text?: string }];
    const text = typeof statement === 'string' ? statement : statement?.text;
    if (/^create table \S*ledger/.test(text ?? '')) process.kill(process.pid, 'SIGKILL');
    return original.apply(this, args);
  };
}

killAtLastTable((require('pg') as { Client: { prototype: Prototype } }).Client.prototype, 'query');
killAtLastTable((require('better-sqlite3') as { prototype: Prototype }).prototype, 'prepare');
killAtLastTable((require('better-sqlite3') as { prototype: Prototype }).prototype, 'exec');

const silent = { error: () => undefined, warn: () => undefined, log: () => undefined, debug: () => undefined };
const registration = registrationOf(JSON.parse(process.env['MILLRACE_PROGRAM']!) as StoreAddress);
void registration.create({ clock: new SystemClock(), logger: silent, lockTimeout: 5_000 }).open();
