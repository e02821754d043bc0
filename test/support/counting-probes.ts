import type { StorageRegistration } from 'nestjs-millrace/storage';

/** A store that tells how often a node has asked it whether anything needs doing. */
export function countingProbes(registration: StorageRegistration): {
  store: StorageRegistration;
  probes: () => number;
} {
  let count = 0;
  const create: StorageRegistration['create'] = (environment) => {
    const storage = registration.create(environment);
    const probe = storage.jobs.probe.bind(storage.jobs);
    storage.jobs.probe = async (request) => {
      const answer = await probe(request);
      count++;
      return answer;
    };
    return storage;
  };
  return { store: { ...registration, create }, probes: () => count };
}
