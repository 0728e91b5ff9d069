import { kindEntry } from '../api/kind-entry.js';
import { volumes } from './kind.js';

/** The entry of the kind Volume. */
export const volumeKind = kindEntry({
  kind: volumes,
  rights: { people: 'write', node: ['read', 'status'] },
  troubledPhases: ['Failed', 'Stalled'],
  api: async () => (await import('./api.js')).volumeApi,
});
