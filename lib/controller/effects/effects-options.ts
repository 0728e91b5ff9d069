import type { Clock, Logger, Random } from '../../base/index.js';
import type { ObjectStore } from '../../store/index.js';
import type { Journal } from './journal.js';

/** Dependencies of the effects of one controller. */
export interface EffectsOptions {
  readonly store: ObjectStore;
  readonly controller: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly journal: Journal;
}
