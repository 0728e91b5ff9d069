import { kindEntry } from '../api/kind-entry.js';
import { instances } from './kind.js';

/** The entry of the kind Instance. */
export const instanceKind = kindEntry({
  kind: instances,
  rights: { people: 'write', node: ['read', 'status', 'finalizers'] },
  troubledPhases: ['Failed', 'Unknown'],
  api: async () => (await import('./api.js')).instanceApi,
});
