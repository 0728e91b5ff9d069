import { kindEntry } from '../api/kind-entry.js';
import { snapshots } from './kind.js';

/** The entry of the kind Snapshot. */
export const snapshotKind = kindEntry({
  kind: snapshots,
  rights: { people: 'write', node: ['read', 'status'] },
  troubledPhases: ['Failed'],
  api: async () => (await import('./api.js')).snapshotApi,
});
