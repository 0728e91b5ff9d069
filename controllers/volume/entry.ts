import { kindEntry } from '../api/kind-entry.js';
import { volumes } from './kind.js';

/** What is derived from the kind of volumes. */
export const volumeKind = kindEntry({
  kind: volumes,
  rights: { people: 'write', node: ['read', 'status'] },
  troubledPhases: ['Failed', 'Stalled'],
  api: async () => (await import('./api.js')).volumeApi,
});
