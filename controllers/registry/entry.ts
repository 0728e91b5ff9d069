import { kindEntry } from '../api/kind-entry.js';
import { registries } from './kind.js';

/** The entry of the kind Registry. */
export const registryKind = kindEntry({
  kind: registries,
  rights: {},
  api: async () => (await import('./api.js')).registryApi,
});
