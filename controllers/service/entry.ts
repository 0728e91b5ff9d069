import { kindEntry } from '../api/kind-entry.js';
import { services } from './kind.js';

/** The entry of the kind Service. */
export const serviceKind = kindEntry({
  kind: services,
  rights: { people: 'write', node: ['read'] },
  troubledPhases: ['Degraded', 'Failed'],
  api: async () => (await import('./api.js')).serviceApi,
});
