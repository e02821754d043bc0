import { fork, type ChildProcess } from 'node:child_process';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from './random';
import type { RunSettings } from './run-settings';

type Role = 'worker' | 'producer';

interface Member {
  readonly role: Role;
  child: ChildProcess;
  /** Started, connected, at work: only such a one is worth killing. */
  ready: boolean;
  /** The producer has ended by itself. */
  finished: boolean;
}

/** The processes of a run. Whoever is killed is started again at once, until the fleet is dismissed. */
export class Fleet {
  kills = 0;
  /** Ends that nobody planned, such as an error that got away. */
  readonly breakdowns: string[] = [];
  private readonly members: Member[] = [];
  private readonly log: number;
  private dismissed = false;

  constructor(
    private readonly settings: RunSettings,
    readonly logFile: string,
  ) {
    this.log = openSync(logFile, 'a');
  }

  start(workers: number): void {
    for (let count = 0; count < workers; count++) this.enlist('worker');
    this.enlist('producer');
  }

  get producing(): boolean {
    return this.members.some(({ role, finished }) => role === 'producer' && !finished);
  }

  /** SIGKILL for one of those at work, if there is one. */
  killOne(random: Random): void {
    const victims = this.members.filter(({ ready, finished }) => ready && !finished);
    if (victims.length === 0) return;
    const victim = random.pick(victims);
    victim.ready = false;
    victim.child.kill('SIGKILL');
  }

  /** Asks everyone to leave in order, as a deploy does. */
  async dismiss(): Promise<void> {
    this.dismissed = true;
    const living = this.members.filter(({ child }) => child.exitCode === null && child.signalCode === null);
    await Promise.all(
      living.map(({ child }) => {
        const gone = new Promise((resolve) => child.once('exit', resolve));
        const deadline = setTimeout(() => {
          this.breakdowns.push(`process ${child.pid} did not leave within 30 s of SIGTERM`);
          child.kill('SIGKILL');
        }, 30_000);
        child.kill('SIGTERM');
        return gone.finally(() => clearTimeout(deadline));
      }),
    );
  }

  private enlist(role: Role): void {
    const member: Member = { role, child: this.spawn(role), ready: false, finished: false };
    this.members.push(member);
    this.watch(member);
  }

  private spawn(role: Role): ChildProcess {
    const env = { ...process.env, MILLRACE_CRASH_RUN: JSON.stringify(this.settings) };
    return fork(join(__dirname, `${role}.js`), { env, stdio: ['ignore', this.log, this.log, 'ipc'] });
  }

  private watch(member: Member): void {
    member.child.once('message', () => (member.ready = true));
    member.child.once('exit', (code, signal) => {
      member.ready = false;
      if (signal === 'SIGKILL' && !this.dismissed) this.kills++;
      else if (member.role === 'producer' && code === 0) member.finished = true;
      else if (!this.dismissed) this.breakdowns.push(`${member.role} ${member.child.pid} ended with ${signal ?? code}`);
      if (this.dismissed || member.finished) return;
      member.child = this.spawn(member.role);
      this.watch(member);
    });
  }
}
