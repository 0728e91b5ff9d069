import { kindEntry } from '../api/kind-entry.js';
import { events } from './kind.js';

/** What is derived from the kind of events. */
export const eventKind = kindEntry({
  kind: events,
  rights: { people: 'read', node: ['record'] },
  api: async () => (await import('./api.js')).eventApi,
});
