import { kindEntry } from '../api/kind-entry.js';
import { services } from './kind.js';

/** What is derived from the kind of services. */
export const serviceKind = kindEntry({
  kind: services,
  rights: { people: 'write', node: ['read'] },
  troubledPhases: ['Degraded', 'Failed'],
  api: async () => (await import('./api.js')).serviceApi,
});
