import { kindEntry } from '../api/kind-entry.js';
import { configmaps } from './kind.js';

/** The entry of the kind Configmap. */
export const configmapKind = kindEntry({
  kind: configmaps,
  rights: { people: 'write', node: ['read'] },
  api: async () => (await import('./api.js')).configmapApi,
});
