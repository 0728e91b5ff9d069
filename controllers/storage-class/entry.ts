import { kindEntry } from '../api/kind-entry.js';
import { storageClasses } from './kind.js';

/** What is derived from the kind of storage classes. */
export const storageClassKind = kindEntry({
  kind: storageClasses,
  rights: { people: 'read', node: ['read'] },
  api: async () => (await import('./api.js')).storageClassApi,
});
