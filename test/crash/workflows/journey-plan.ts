import { Random } from '../random';
import type { Journey } from './journey';

const FAILING = ['Book', 'Pack', 'Load', 'Fasten', 'Charge', 'Confirm', 'Ship', 'Inform'];
const STUMBLING = [...FAILING, 'Prepare', 'Unbook', 'Unpack', 'Unload', 'Refund', 'Revoke', 'Recall', 'Finish'];

/** So many journeys, of which a third is undone; the same for the same seed. */
export function journeyPlan(seed: number, journeys: number): Journey[] {
  const random = new Random(seed);
  return Array.from({ length: journeys }, (_, item) => journey(random, item));
}

function journey(random: Random, item: number): Journey {
  const parcels = Array.from({ length: random.between(0, 8) }, (_, parcel) => parcel);
  const step = random.pick(FAILING);
  const inLoop = step === 'Load' || step === 'Fasten';
  const fails = random.next() < 0.35 && (!inLoop || parcels.length > 0);
  return {
    item,
    work: random.between(0, 60),
    parcels,
    detour: random.next() < 0.3,
    failsAt: fails ? { step, iteration: inLoop ? random.pick(parcels) : 0 } : null,
    stumbles: random.next() < 0.3 ? [random.pick(STUMBLING)] : [],
    handover: random.next() < 0.6 ? 'signalled' : 'expired',
    received: false,
    notes: {},
  };
}
