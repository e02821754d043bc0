import { type ChildProcess, fork } from 'node:child_process';
import type { ProgramCommands } from '../cases/programs/commands';
import type { ProgramEvent } from '../cases/programs/program-jobs';
import type { ProgramMessage, ProgramSettings } from '../cases/programs/protocol';
import { eventually } from './eventually';
import { programFile, RUN_TYPESCRIPT } from './typescript-programs';

type Answer = { resolve(result: unknown): void; reject(error: Error): void };

/** A Nest application with Millrace in it, in a process of its own. */
export class ChildNode implements AsyncDisposable {
  /** What its handlers have told, in that order. */
  readonly events: ProgramEvent[] = [];
  /** Exceptions and rejections that nobody caught. */
  readonly uncaught: string[] = [];
  /** Everything it has written. */
  output = '';
  private readonly child: ChildProcess;
  private readonly answers = new Map<number, Answer>();
  private isReady = false;
  private lastId = 0;

  private constructor(settings: ProgramSettings, env: NodeJS.ProcessEnv) {
    this.child = fork(programFile('node'), {
      execArgv: RUN_TYPESCRIPT,
      env: { ...process.env, NO_COLOR: '1', ...env, MILLRACE_PROGRAM: JSON.stringify(settings) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      serialization: 'advanced',
    });
    this.child.on('message', (message: ProgramMessage) => this.receive(message));
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      stream.on('data', (text: Buffer) => (this.output += text.toString()));
    }
  }

  /** Starts a process without waiting until it is up. */
  static spawn(settings: ProgramSettings, env: NodeJS.ProcessEnv = {}): ChildNode {
    return new ChildNode(settings, env);
  }

  static async start(settings: ProgramSettings, env: NodeJS.ProcessEnv = {}): Promise<ChildNode> {
    const node = ChildNode.spawn(settings, env);
    await node.ready();
    return node;
  }

  /** Resolves once the application is up; rejects with what it wrote if it ends before. */
  async ready(within = 30_000): Promise<void> {
    await eventually(() => {
      if (this.hasEnded || this.isReady) return;
      throw new Error('The application has not started.');
    }, within);
    if (!this.isReady) throw new Error(`The application did not start (${this.ending}):\n${this.output}`);
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Exit code or signal; null while it lives. */
  get ending(): number | string | null {
    return this.child.exitCode ?? this.child.signalCode;
  }

  /** Has the process carry out one of its commands. */
  call<Name extends keyof ProgramCommands>(
    command: Name,
    ...args: Parameters<ProgramCommands[Name]>
  ): ReturnType<ProgramCommands[Name]> {
    const id = ++this.lastId;
    const answer = new Promise((resolve, reject) => this.answers.set(id, { resolve, reject }));
    this.child.send({ id, command, args });
    return answer as ReturnType<ProgramCommands[Name]>;
  }

  /** Labels of the events of one name, in order. */
  labels(name: string): string[] {
    return this.events.filter((event) => event.name === name).map(({ label }) => label);
  }

  /** Ends it in the middle of everything. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** Asks it to leave in order, as a deploy does. */
  async terminate(): Promise<void> {
    await this.end('SIGTERM');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  private async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (this.hasEnded) return;
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill(signal);
    await ended;
  }

  private receive(message: ProgramMessage): void {
    if ('ready' in message) this.isReady = true;
    else if ('event' in message) this.events.push(message.event as ProgramEvent);
    else if ('uncaught' in message) this.uncaught.push(message.uncaught);
    else if ('error' in message) this.answers.get(message.id)?.reject(new Error(message.error));
    else this.answers.get(message.id)?.resolve(message.result);
  }
}
