import { kindOf, stateMachine } from 'kedge/objects';
import { type Namespace, namespaceSchema } from '@kedge/api/kinds';

export type { Namespace };

/** The kind Namespace. */
export const namespaces = kindOf<Namespace>()({
  ...namespaceSchema,
  rarelyWritten: true,
  states: stateMachine(
    'status',
    'Active',
    { Active: ['Terminating'], Terminating: [] },
    { removable: ['Terminating'] },
  ),
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'STATUS', value: (o) => o.status },
  ],
});
