import { kindEntry } from '../api/kind-entry.js';
import { secrets } from './kind.js';

/** What is derived from the kind of secrets. */
export const secretKind = kindEntry({
  kind: secrets,
  rights: { people: 'write', node: ['reveal'] },
  api: async () => (await import('./api.js')).secretApi,
});
