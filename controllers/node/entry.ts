import { kindEntry } from '../api/kind-entry.js';
import { nodes } from './kind.js';

/** What is derived from the kind of nodes. */
export const nodeKind = kindEntry({
  kind: nodes,
  rights: { people: 'read', node: ['read', 'record', 'status'] },
  troubledPhases: ['NotReady'],
  api: async () => (await import('./api.js')).nodeApi,
});
