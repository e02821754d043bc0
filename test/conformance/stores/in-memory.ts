import { inMemoryStorage } from 'nestjs-millrace/storage';
import { conformanceEnvironment, type CreateHarness } from 'nestjs-millrace/conformance';

/** One process is all there ever is, so every node of a fact is the same store. */
export const inMemoryHarness: CreateHarness = async (clock) => {
  const create = () => inMemoryStorage().create(conformanceEnvironment(clock));
  const storage = create();
  await storage.open();
  return {
    storage,
    another: () => Promise.resolve(storage),
    unopened: (count) => Promise.resolve(Array.from({ length: count }, create).fill(create())),
    transactions: null,
    dispose: () => storage.close(),
  };
};
