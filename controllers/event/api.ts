import type { Event } from 'kedge';
import type { KindApi } from '../api/kind-entry.js';
import { eventRules } from './admission.js';

/** What a server does for the kind Event. */
export const eventApi: KindApi<Event> = {
  rules: ({ clock }) => eventRules(clock),
};
