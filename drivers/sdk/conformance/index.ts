/**
 * What every driver must hold to, free of any test runner, and the faulty drivers that prove the suite.
 *
 * {@link runConformance} runs the suite; {@link driverConformance} gives its cases to a runner. Every case
 * says what it demands, and one that can't be made with a driver or on a host says why it is left out.
 * {@link mutants} are wrappers that break one thing in a correct driver each; {@link tryMutant} shows that
 * the suite notices.
 */
export type { CheckTopic } from './check.js';
export { ConformanceError } from './failure.js';
export type { ConformanceOptions } from './options.js';
export {
  type CheckOutcome,
  type CheckReport,
  type ConformanceCase,
  driverConformance,
  runConformance,
} from './suite.js';
export { type MutantOutcome, failuresOf, tryMutant } from './try-mutant.js';
export type { Mutant, MutantMemory } from './mutants/mutant.js';
export { mutants } from './mutants/index.js';
