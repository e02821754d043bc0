import * as fc from 'fast-check';
import { Choices } from './choices';
import { Growth, named } from './random-graph';
import { RandomRun } from './random-run';

const LARGEST = 40;
const MOST_SHRINKS = 1000;

export interface CheckOptions {
  readonly runs: number;
  readonly seed?: number | undefined;
  readonly path?: string | undefined;
}

/**
 * Plays so many random runs: random definitions, interleavings, outcomes and decisions.
 *
 * @returns how many runs were played
 * @throws {Error} a promise was broken; it names the seed and path that repeat the run, and the smallest one found
 */
export function checkEngine({ runs, seed, path }: CheckOptions): number {
  let played = 0;
  const numbersOf = (maxLength: number) =>
    fc.limitShrink(fc.noBias(fc.array(fc.nat(0xffff), { maxLength, size: 'max' })), MOST_SHRINKS);
  const definitions = numbersOf(150).map((numbers) => named(new Growth(new Choices(numbers), LARGEST).sequence()));
  const choices = numbersOf(300);
  const property = fc.property(definitions, choices, (definition, numbers) => {
    new RandomRun(definition, new Choices(numbers)).play();
    played++;
  });
  fc.assert(property, { numRuns: runs, ...(seed !== undefined && { seed }), ...(path !== undefined && { path }) });
  return played;
}
