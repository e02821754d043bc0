import type { StorageLogger } from '../../lib/storage';
import type { Row } from '../relational/operation';
import { ServerVersionError } from '../relational/server-version';
import type { Statement } from '../relational/statement';

const OLDEST = [13, 0, 4001] as const; // SQL Server 2016 SP1
const OLDEST_COMPATIBILITY_LEVEL = 130; // OPENJSON

// Editions that are installed somewhere, and so have the version of a product; the rest is Azure's and always new enough.
const INSTALLED_EDITIONS = new Set([1, 2, 3, 4]);

export const serverStatements = {
  describe: {
    name: 'describe_server',
    text: () =>
      "select cast(serverproperty('EngineEdition') as int) as edition, " +
      "cast(serverproperty('ProductVersion') as nvarchar(128)) as version, @@version as banner, " +
      'd.compatibility_level as compatibility_level, d.is_read_committed_snapshot_on as row_versions, d.name as name ' +
      'from sys.databases as d where d.name = db_name()',
  },
} satisfies Record<string, Statement>;

/**
 * Checks that the server and the compatibility level of the database know what the statements use.
 *
 * @throws {ServerVersionError}
 */
export function checkServer(row: Row | undefined, logger: StorageLogger): void {
  // Babelfish names versions of SQL Server that it stands in for, and has no compatibility levels.
  if (!row || String(row['banner']).includes('Babelfish')) return;
  const { version, name, compatibility_level: level } = row;
  if (INSTALLED_EDITIONS.has(Number(row['edition'])) && isOlder(String(version), OLDEST)) {
    throw new ServerVersionError(
      `This SQL Server has version ${String(version)}; Millrace needs ${OLDEST.join('.')} (2016 SP1) or newer.`,
    );
  }
  if (Number(level) < OLDEST_COMPATIBILITY_LEVEL) {
    throw new ServerVersionError(
      `The database ${String(name)} has compatibility level ${String(level)}; Millrace needs ${OLDEST_COMPATIBILITY_LEVEL} or higher. ` +
        `Run: ALTER DATABASE [${String(name)}] SET COMPATIBILITY_LEVEL = ${OLDEST_COMPATIBILITY_LEVEL}`,
    );
  }
  if (!isOn(row['row_versions'])) {
    logger.warn(
      `READ_COMMITTED_SNAPSHOT is off in the database ${String(name)}: reading jobs waits for transactions that hold them. ` +
        `Run: ALTER DATABASE [${String(name)}] SET READ_COMMITTED_SNAPSHOT ON`,
    );
  }
}

function isOn(bit: unknown): boolean {
  return bit === true || Number(bit) === 1;
}

function isOlder(version: string, oldest: readonly number[]): boolean {
  const parts = version.split('.').map(Number);
  for (const [index, needed] of oldest.entries()) {
    const part = parts[index] ?? 0;
    if (part !== needed) return part < needed;
  }
  return false;
}
