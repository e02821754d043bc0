import * as fc from 'fast-check';
import { Choices } from './choices';
import { Growth, named } from './random-graph';
import { RandomRun } from './random-run';

const MOST_POSITIONS = 40;
/** So that a failure is reported within a minute or so, not quite at its smallest. */
const MOST_SHRINKS = 1000;

export interface CheckOptions {
  readonly runs: number;
  /** With `path`, repeats the run that has failed. */
  readonly seed?: number;
  readonly path?: string;
}

/**
 * Plays so many random runs: random definitions, interleavings, outcomes and decisions.
 *
 * @returns how many runs were played
 * @throws {Error} a promise was broken; it names the seed and path that repeat the run
 */
export function checkEngine({ runs, ...repeated }: CheckOptions): number {
  const numbersOf = (maxLength: number) =>
    fc.limitShrink(fc.noBias(fc.array(fc.nat(0xffff), { minLength: 20, maxLength, size: 'max' })), MOST_SHRINKS);
  const definitions = numbersOf(150).map((numbers) =>
    named(new Growth(new Choices(numbers), MOST_POSITIONS).sequence()),
  );
  let played = 0;
  const property = fc.property(definitions, numbersOf(300), (definition, numbers) => {
    new RandomRun(definition, new Choices(numbers)).play();
    played++;
  });
  fc.assert(property, { numRuns: runs, ...repeated });
  return played;
}
