/** The kinds of Kedge: what each object is made of. This is the only list of them. */
import type { AnyKind } from 'kedge';
import { authKinds } from 'kedge/auth';
import { configmaps } from '../configmap/kind.js';
import { events } from '../event/kind.js';
import { instances } from '../instance/kind.js';
import { namespaces } from '../namespace/kind.js';
import { nodes } from '../node/kind.js';
import { registries } from '../registry/kind.js';
import { secrets } from '../secret/kind.js';
import { services } from '../service/kind.js';
import { snapshots } from '../snapshot/kind.js';
import { storageClasses } from '../storage-class/kind.js';
import { volumes } from '../volume/kind.js';

export * from '../configmap/kind.js';
export * from '../event/kind.js';
export * from '../instance/kind.js';
export * from '../namespace/kind.js';
export * from '../node/kind.js';
export * from '../registry/kind.js';
export * from '../service/capabilities.js';
export * from '../secret/kind.js';
export * from '../service/kind.js';
export * from '../snapshot/kind.js';
export * from '../storage-class/kind.js';
export * from '../volume/kind.js';

/** Every kind that is served. */
export const allKinds: readonly AnyKind[] = [
  namespaces,
  storageClasses,
  volumes,
  snapshots,
  services,
  instances,
  secrets,
  configmaps,
  nodes,
  events,
  registries,
  ...authKinds,
] as readonly unknown[] as readonly AnyKind[];
