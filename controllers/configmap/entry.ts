import { kindEntry } from '../api/kind-entry.js';
import { configmaps } from './kind.js';

/** What is derived from the kind of configmaps. */
export const configmapKind = kindEntry({
  kind: configmaps,
  rights: { people: 'write', node: ['read'] },
  api: async () => (await import('./api.js')).configmapApi,
});
