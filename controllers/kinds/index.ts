/** The kinds of Kedge: what each object is made of. This is the only list of them. */
import type { AnyKind } from 'kedge';
import { authKinds } from 'kedge/auth';
import { configmaps } from './configmap.js';
import { events } from './event.js';
import { instances } from './instance.js';
import { namespaces } from './namespace.js';
import { nodes } from './node.js';
import { registries } from './registry.js';
import { secrets } from './secret.js';
import { services } from './service.js';
import { snapshots } from './snapshot.js';
import { storageClasses } from './storage-class.js';
import { volumes } from './volume.js';

export * from './configmap.js';
export * from './event.js';
export * from './instance.js';
export * from './namespace.js';
export * from './node.js';
export * from './registry.js';
export * from './rights.js';
export * from './secret.js';
export * from './service.js';
export * from './snapshot.js';
export * from './storage-class.js';
export * from './volume.js';

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
