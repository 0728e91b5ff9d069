import { kindEntry } from '../api/kind-entry.js';
import { namespaces } from './kind.js';

/** The entry of the kind Namespace. */
export const namespaceKind = kindEntry({
  kind: namespaces,
  rights: { people: 'read' },
  troubledPhases: [],
  api: async () => (await import('./api.js')).namespaceApi,
});
