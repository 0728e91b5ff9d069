import { kindOf } from 'kedge/objects';
import { type StorageClass, storageClassSchema } from '@kedge/api/kinds';

export type {
  StorageClass,
  TopologySelector,
  TopologySelectorExpression as TopologyExpression,
} from '@kedge/api/kinds';

/** The kind StorageClass. */
export const storageClasses = kindOf<StorageClass>()({
  ...storageClassSchema,
  rarelyWritten: true,
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'DRIVER', value: (o) => o.driver },
    { header: 'DEFAULT', value: (o) => o.default || (o.configuredDefault ? 'configured' : false) },
    { header: 'RECLAIM', value: (o) => o.reclaimPolicy },
  ],
});
