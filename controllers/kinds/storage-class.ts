import { type ApiObject, kindOf } from 'kedge';
import type { ReclaimPolicy } from './volume.js';

/** One expression over a node label. */
export interface TopologyExpression {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values?: readonly string[];
}

/** Labels a node must have; all parts must hold. */
export interface TopologySelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly TopologyExpression[];
}

/** Names a driver and default parameters (specification section 2.1). */
export interface StorageClass extends ApiObject {
  readonly driver: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly reclaimPolicy?: ReclaimPolicy;
  readonly default?: boolean;
  /** Output only, never stored: [storage].defaultStorageClass names it. A class with `default` true wins. */
  readonly configuredDefault?: boolean;
  readonly allowedTopologies?: readonly TopologySelector[];
}

export const storageClasses = kindOf<StorageClass>()({
  kind: 'StorageClass',
  plural: 'storageclasses',
  shortNames: ['sc', 'storageclass'],
  scope: 'Cluster',
  rarelyWritten: true,
  statusFields: ['configuredDefault'],
  immutableFields: ['driver'],
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'DRIVER', value: (o) => o.driver },
    { header: 'DEFAULT', value: (o) => o.default || (o.configuredDefault ? 'configured' : false) },
    { header: 'RECLAIM', value: (o) => o.reclaimPolicy },
  ],
});
