import type { KindApi } from '../api/kind-entry.js';
import { storageClassRules } from './admission.js';
import type { StorageClass } from './kind.js';
import { storageClassVerbs } from './verbs.js';

/** The API of the kind StorageClass. */
export const storageClassApi: KindApi<StorageClass> = {
  rules: storageClassRules,
  verbs: storageClassVerbs,
};
