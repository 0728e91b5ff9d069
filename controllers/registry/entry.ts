import { kindEntry } from '../api/kind-entry.js';
import { registries } from './kind.js';

/** What is derived from the kind of registries. */
export const registryKind = kindEntry({
  kind: registries,
  rights: {},
  api: async () => (await import('./api.js')).registryApi,
});
