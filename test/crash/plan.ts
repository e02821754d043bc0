import { Random } from './random';
import type { Ticket } from './ticket';

/** One thing the producer does; `tickets` become jobs, and each position may continue an earlier one. */
export interface PlanItem {
  readonly kind: 'single' | 'delayed' | 'keyed' | 'chain' | 'batch' | 'cancelled';
  readonly tickets: readonly Ticket[];
  /** By position: the earlier position that it continues, or null. */
  readonly parents: readonly (number | null)[];
  /** For `keyed` and `cancelled`. */
  readonly key?: string;
}

const KEYS = 12;

/** At least `jobs` jobs of every kind that can go wrong in a way of its own; the same for the same seed. */
export function crashPlan(seed: number, jobs: number): PlanItem[] {
  const random = new Random(seed);
  const items: PlanItem[] = [];
  for (let planned = 0; planned < jobs;) {
    const item = randomItem(random, items.length);
    items.push(item);
    planned += item.tickets.length;
  }
  return items;
}

/** `jobs` good ones, and one in their middle that ends the process that runs it. */
export function poisonPlan(seed: number, jobs: number): PlanItem[] {
  const random = new Random(seed);
  const items: PlanItem[] = [];
  for (let item = 0; item <= jobs; item++) {
    const ticket: Ticket = { item, work: random.between(20, 200) };
    items.push(single(item === jobs >> 1 ? { item, work: 0, fate: 'kills' } : ticket));
  }
  return items;
}

function single(ticket: Ticket): PlanItem {
  return { kind: 'single', tickets: [ticket], parents: [null] };
}

function randomItem(random: Random, item: number): PlanItem {
  const ticket = (more: Partial<Ticket> = {}): Ticket => ({ item, work: random.between(0, 250), ...more });
  const dice = random.next();
  if (dice < 0.2) return single(ticket());
  if (dice < 0.3) return { ...single(ticket()), kind: 'delayed' };
  if (dice < 0.45) return single(ticket({ failures: random.between(1, 3) }));
  if (dice < 0.6) return single(ticket({ followUps: random.between(1, 3) }));
  if (dice < 0.75) return { ...single(ticket()), kind: 'keyed', key: `key-${random.between(1, KEYS)}` };
  if (dice < 0.8)
    return {
      kind: 'cancelled',
      ...line(3, (at) => ticket(at === 0 ? { fate: 'cancelled' } : {})),
      key: `cancel-${item}`,
    };
  if (dice < 0.9) return { kind: 'chain', ...line(random.between(2, 5), () => ticket(anyFate(random))) };
  const size = random.between(3, 10);
  return {
    kind: 'batch',
    tickets: Array.from({ length: size }, () => ticket(anyFate(random))),
    // A tree: a member stands alone or continues any earlier one.
    parents: Array.from({ length: size }, (_, at) =>
      at === 0 || random.next() < 0.5 ? null : random.between(0, at - 1),
    ),
  };
}

function line(length: number, ticketAt: (at: number) => Ticket): Pick<PlanItem, 'tickets' | 'parents'> {
  const positions = Array.from({ length }, (_, at) => at);
  return { tickets: positions.map(ticketAt), parents: positions.map((at) => (at === 0 ? null : at - 1)) };
}

function anyFate(random: Random): Partial<Ticket> {
  const dice = random.next();
  if (dice < 0.1) return { fate: 'dies' };
  if (dice < 0.3) return { failures: 1 };
  return {};
}
