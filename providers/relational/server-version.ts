import { StorageError } from '../../lib/storage';
import type { Dialect } from './dialect';

/** Thrown at startup: the database is older than what Millrace is written for. */
export class ServerVersionError extends StorageError {
  readonly code = 'MILLRACE_SERVER_VERSION';
}

/**
 * Compares the server's version with the oldest one that is supported.
 *
 * @throws {ServerVersionError}
 */
export function checkServerVersion({ provider, oldestVersion }: Dialect, version: string): void {
  const parts = version.split(/[^0-9]+/).map(Number);
  for (const [index, oldest] of oldestVersion.entries()) {
    const part = parts[index] ?? 0;
    if (part > oldest) return;
    if (part < oldest) {
      throw new ServerVersionError(
        `This ${provider} server has version ${version}; Millrace needs ${oldestVersion.join('.')} or newer.`,
      );
    }
  }
}
