import { kindEntry } from '../api/kind-entry.js';
import { secrets } from './kind.js';

/** The entry of the kind Secret. */
export const secretKind = kindEntry({
  kind: secrets,
  rights: { people: 'write', node: ['reveal'] },
  api: async () => (await import('./api.js')).secretApi,
});
