import { kindEntry } from '../api/kind-entry.js';
import { storageClasses } from './kind.js';

/** The entry of the kind StorageClass. */
export const storageClassKind = kindEntry({
  kind: storageClasses,
  rights: { people: 'read', node: ['read'] },
  api: async () => (await import('./api.js')).storageClassApi,
});
