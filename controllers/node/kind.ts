import { kindOf } from 'kedge/objects';
import { type Node, nodeSchema } from '@kedge/api/kinds';

export type { Node };

/** The kind Node. */
export const nodes = kindOf<Node>()({
  ...nodeSchema,
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'STATUS', value: (o) => o.status },
    { header: 'RUNTIMES', value: (o) => o.runtimes?.join(',') },
    { header: 'VERSION', value: (o) => o.version },
  ],
});
