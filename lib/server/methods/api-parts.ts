import type { Clock } from '../../base/index.js';
import type { ObjectStore } from '../../store/index.js';
import type { ServedKind } from '../api/served-kind.js';
import type { AccessControl } from '../auth/index.js';
import type { ValidatedWrites } from '../admission/validated-writes.js';
import type { Resources } from '../objects/resources.js';
import type { Admission } from '../admission/admission.js';

/** Parts that custom methods build on. */
export interface ApiParts {
  readonly store: ObjectStore;
  readonly admission: Admission;
  readonly writes: ValidatedWrites;
  readonly authorizer: AccessControl;
  readonly resources: Resources;
  readonly served: ReadonlyMap<string, ServedKind>;
  readonly clock: Clock;
}
