import type { Event } from 'kedge';
import { defineKind } from 'kedge/objects';

/** Records of what happened to objects, such as a changed condition, for people. Controllers and agents write them by the recorder of the library, and they expire. */
export const events = defineKind<Event>({
  kind: 'Event',
  plural: 'events',
  shortNames: ['ev', 'event'],
  scope: 'Namespaced',
  statusFields: [],
  columns: [
    { header: 'NAME', value: (o) => o.name, wide: true },
    { header: 'LAST SEEN', value: (o) => o.lastSeenAt },
    { header: 'TYPE', value: (o) => o.type },
    { header: 'REASON', value: (o) => o.reason },
    { header: 'OBJECT', value: (o) => `${o.regarding.kind}/${o.regarding.name}` },
    { header: 'COUNT', value: (o) => o.count },
    { header: 'MESSAGE', value: (o) => o.message },
  ],
});
