import { conformanceEnvironment } from '../../../lib/conformance/harness';
import { DriverNotInstalledError, FakeClock } from '../../../lib/storage';
import { sqlServerStorage } from '../../../providers/mssql';

jest.mock('mssql', () => {
  throw Object.assign(new Error("Cannot find module 'mssql'"), { code: 'MODULE_NOT_FOUND' });
});

it('names the line that installs the driver, when the store is opened and not before', async () => {
  const registration = sqlServerStorage({ url: 'mssql://sa:secret@localhost/shop' });
  const storage = registration.create(conformanceEnvironment(new FakeClock()));

  const opening = storage.open();

  await expect(opening).rejects.toThrow(DriverNotInstalledError);
  await expect(opening).rejects.toThrow('The mssql package is not installed. Run: npm i mssql');
});
