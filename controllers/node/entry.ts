import { kindEntry } from '../api/kind-entry.js';
import { nodes } from './kind.js';

/** The entry of the kind Node. */
export const nodeKind = kindEntry({
  kind: nodes,
  rights: { people: 'read', node: ['read', 'record', 'status'] },
  troubledPhases: ['NotReady'],
  api: async () => (await import('./api.js')).nodeApi,
});
