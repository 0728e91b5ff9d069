import { kindEntry } from '../api/kind-entry.js';
import { events } from './kind.js';

/** The entry of the kind Event. */
export const eventKind = kindEntry({
  kind: events,
  rights: { people: 'read', node: ['record', 'expiry'] },
  api: async () => (await import('./api.js')).eventApi,
});
