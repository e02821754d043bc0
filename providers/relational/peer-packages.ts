import { DriverNotInstalledError } from '../../lib/storage';

/**
 * Loads an optional peer when it is first needed, so that importing a provider loads no driver.
 *
 * @param load requires the package by its literal name
 * @throws {DriverNotInstalledError} with the line to run
 */
export function loadPeer<T>(name: string, load: () => T): T {
  try {
    return load();
  } catch (cause) {
    if (isMissing(cause, name)) throw new DriverNotInstalledError(name, { cause });
    throw cause;
  }
}

export function isInstalled(load: () => unknown): boolean {
  try {
    load();
    return true;
  } catch {
    return false;
  }
}

function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return code === 'MODULE_NOT_FOUND' && String(message).includes(`'${name}'`);
}
