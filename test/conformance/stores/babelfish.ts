import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { ConformanceRunner } from 'nestjs-millrace/conformance';
import { RUN_TYPESCRIPT } from '../../support/typescript-programs';

// Babelfish, a PostgreSQL that speaks T-SQL, reads over table hints: UPDLOCK locks nothing there, READPAST skips nothing.
// What a claim, an activation or a prune writes is checked again by the very statement that writes it. The operations
// below read with a lock, decide, and then write by id: without the lock two of them decide on the same row. (Its
// sp_getapplock works, so the schema is made under a lock as anywhere.)
const PARENT = 'a parent has to be locked while a continuation is added, and while it ends';
const JOB = 'the job has to be locked from the look at its state to the write';
const INSTANCE = 'the instance has to be locked from the look at its data to the write';
const WAIT = 'the wait has to be locked before it is consumed, or skipped while another signal or timeout holds it';
const DEFINITION = 'the definition has to be locked from the look at its fire times to the write';

/** The facts that cannot hold there, and why. */
const OUT_OF_REACH: ReadonlyMap<string, string> = new Map([
  ['stored while their parent succeeds all run', PARENT],
  ['stored while their parent dies are all cancelled', PARENT],
  ['stored while their own parent is being cancelled with its ancestor are cancelled too', PARENT],
  ['strand no continuation that it adds while the parent ends, if it ends in commit', PARENT],
  ['lets one of two racing outcomes through, with what belongs to it', JOB],
  ['and a claim at one moment leave a job that is either cancelled or running with the request', JOB],
  ['and activation at one moment cancel the job or let its worker go on', JOB],
  ['by eight callers at once succeeds for one', JOB],
  ['on two nodes at once loses neither branch', INSTANCE],
  ['by eight nodes at once loses none', INSTANCE],
  ['advance an instance after it, from what it left', INSTANCE],
  ['from eight senders at once end one wait once', WAIT],
  ['from eight senders at once end eight waits', WAIT],
  ['find nobody waiting for their signal when the sender before them commits', WAIT],
  ['are ended once by eight nodes at once', WAIT],
  ['and a signal at one moment end with one of the two', WAIT],
  ['by eight nodes at once succeeds for one, and stores its job alone', DEFINITION],
  ['and an upsert at one moment lose neither: the schedule is that of the fire, if it was in time', DEFINITION],
]);

/** Asks the server what it is. */
export function isBabelfish(url: string): boolean {
  const program = join(__dirname, 'server-banner.ts');
  const env = { ...process.env, MILLRACE_TEST_MSSQL: url };
  return execFileSync(process.execPath, [...RUN_TYPESCRIPT, program], { env, encoding: 'utf8' }).includes('Babelfish');
}

/** Registers facts; those that are out of reach are skipped, by name, where the server is Babelfish. */
export class BabelfishFacts {
  private readonly met = new Set<string>();

  constructor(private readonly babelfish: boolean) {}

  readonly it: ConformanceRunner['it'] = (sentence, body) => {
    if (OUT_OF_REACH.has(sentence)) this.met.add(sentence);
    if (this.babelfish && OUT_OF_REACH.has(sentence)) it.skip(sentence, body);
    else it(sentence, body);
  };

  /** To be called when all facts are registered: prints what is skipped, and fails if the list names what is no fact. */
  report(): void {
    const unknown = [...OUT_OF_REACH.keys()].filter((sentence) => !this.met.has(sentence));
    if (unknown.length > 0) throw new Error(`No facts, and yet listed as out of reach: ${unknown.join('; ')}.`);
    if (!this.babelfish) return;
    const lines = [...OUT_OF_REACH].map(([sentence, reason]) => `  ${sentence} (${reason})`);
    console.warn(`The server is Babelfish; ${lines.length} facts are skipped:\n${lines.join('\n')}`);
  }
}
