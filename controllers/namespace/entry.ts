import { kindEntry } from '../api/kind-entry.js';
import { namespaces } from './kind.js';

/** What is derived from the kind of namespaces. */
export const namespaceKind = kindEntry({
  kind: namespaces,
  rights: { people: 'read' },
  troubledPhases: [],
  api: async () => (await import('./api.js')).namespaceApi,
});
