import { defineKind } from 'kedge/objects';
import { type Instance, instanceSchema } from '@kedge/api/kinds';
import { mountedVolumes } from '../references/claim.js';
import { isNeedy } from '../resources/index.js';

export type {
  Instance,
  InstanceBackoff,
  InstanceHostPort,
  InstanceMount,
  InstancePhase,
  InstanceTemplate,
} from '@kedge/api/kinds';

/** The kind Instance. */
export const instances = defineKind<Instance>({
  ...instanceSchema,
  indexes: {
    /** `<namespace>/<service>` */
    service: ({ namespace, service }) => [`${namespace}/${service}`],
    /** `<namespace>/<volume>` of its mounts. */
    mounts: mountedVolumes,
    /** The node on which the instance uses resources or ports, or is nominated for them. */
    takesFrom: ({ node, nominatedNode, template }) => {
      const from = node ?? (nominatedNode || undefined);
      return from !== undefined && isNeedy(template) ? [from] : [];
    },
  },
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'SERVICE', value: (o) => o.service },
    { header: 'NODE', value: (o) => o.node },
    { header: 'STATUS', value: (o) => o.status },
    { header: 'RESTARTS', value: (o) => o.restartCount ?? 0 },
    { header: 'PID', value: (o) => o.pid, wide: true },
    { header: 'MESSAGE', value: (o) => o.failureMessage, wide: true },
  ],
});
