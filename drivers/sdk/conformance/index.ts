/**
 * The requirements of every driver, independent of a test runner, and faulty drivers that test the suite.
 *
 * {@link runConformance} runs the suite; {@link driverConformance} gives its cases to a runner. Every case
 * describes its requirement; a case that is impossible with a driver or host is skipped with the reason. {@link
 * mutants} are wrappers that break one thing in a correct driver each; {@link tryMutant} shows that the suite
 * detects them.
 */
export type { CheckTopic } from './check.js';
export { ConformanceError } from './failure.js';
export { removeDuringLinkSwap } from './link-swap.js';
export type { ConformanceOptions } from './options.js';
export { retriedInUse } from './retried-in-use.js';
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
