import { kindOf } from 'kedge/objects';
import { type Configmap, configmapSchema } from '@kedge/api/kinds';

export type { Configmap };

/** Configuration data without confidential values. */
export const configmaps = kindOf<Configmap>()({
  ...configmapSchema,
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'KEYS', value: (o) => Object.keys(o.data ?? {}).length },
    { header: 'VERSION', value: (o) => o.version },
  ],
});
