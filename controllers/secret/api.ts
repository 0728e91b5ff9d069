import type { KindApi } from '../api/kind-entry.js';
import { secretRules } from './admission.js';
import type { Secret } from './kind.js';

/** The API of the kind Secret. */
export const secretApi: KindApi<Secret> = {
  rules: ({ sealer, drivers }) => secretRules(sealer, drivers.declaredCredentials ?? new Map()),
};
