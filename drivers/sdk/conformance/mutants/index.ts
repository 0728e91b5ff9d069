import { dataMutants } from './data.js';
import { errorMutants } from './errors.js';
import { growthMutants } from './growth.js';
import { idempotencyMutants } from './idempotency.js';
import { handleMutants } from './handles.js';
import { hiddenMutants } from './hidden.js';
import { lifecycleMutants } from './lifecycle.js';
import { mountMutants } from './mounts.js';
import type { Mutant } from './mutant.js';
import { nodeMutants } from './nodes.js';
import { snapshotMutants } from './snapshots.js';

/** Ways to break a correct driver. The suite detects every one. */
export const mutants: readonly Mutant[] = [
  ...lifecycleMutants,
  ...idempotencyMutants,
  ...dataMutants,
  ...snapshotMutants,
  ...growthMutants,
  ...mountMutants,
  ...nodeMutants,
  ...errorMutants,
  ...hiddenMutants,
  ...handleMutants,
];
