import type { Event } from 'kedge';
import type { KindApi } from '../api/kind-entry.js';
import { eventRules } from './admission.js';

/** The API of the kind Event. */
export const eventApi: KindApi<Event> = {
  rules: ({ clock }) => eventRules(clock),
};
