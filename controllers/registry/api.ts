import type { KindApi } from '../api/kind-entry.js';
import { registryRules } from './admission.js';
import type { Registry } from './kind.js';

/** The API of the kind Registry. */
export const registryApi: KindApi<Registry> = {
  rules: ({ sealer }) => registryRules(sealer),
};
