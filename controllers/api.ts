import type { DriverRegistry } from '@kedge/driver-sdk';
import {
  type ApiParts,
  type CustomMethod,
  policies,
  serve,
  type ServedKind,
  tokens,
  users,
} from 'kedge/server';
import type { Runtime } from './agent/index.js';
import { instanceRules, instanceVerbs } from './instance/index.js';
import {
  instances,
  namespaces,
  nodes,
  secrets,
  services,
  snapshots,
  storageClasses,
  volumes,
} from './kinds/index.js';
import { logVerbs } from './log/index.js';
import { namespaceRules } from './namespace/index.js';
import { policyRules, userRules } from './access.js';
import { type Sealer, secretRules } from './secret/index.js';
import { serviceRules, serviceVerbs } from './service/index.js';
import { snapshotRules, snapshotVerbs } from './snapshot/index.js';
import { storageClassRules, storageClassVerbs } from './storage-class/index.js';
import { volumeRules, volumeVerbs } from './volume/index.js';

/** What the rules of all kinds look at. */
export interface ApiOptions {
  readonly drivers: DriverRegistry;
  readonly sealer: Sealer;
  readonly runtimes: readonly Runtime[];
  readonly defaultStorageClass: string | undefined;
}

/** Every kind with its message and rules. */
export function servedKinds(options: ApiOptions): readonly ServedKind[] {
  return [
    serve(namespaces, 'api.Namespace', namespaceRules()),
    serve(storageClasses, 'api.StorageClass', storageClassRules(options)),
    serve(volumes, 'api.Volume', volumeRules(options)),
    serve(snapshots, 'api.Snapshot', snapshotRules(options)),
    serve(services, 'api.Service', serviceRules(options)),
    serve(instances, 'api.Instance', instanceRules()),
    serve(secrets, 'api.Secret', secretRules(options.sealer)),
    serve(nodes, 'api.Node'),
    serve(users, 'api.User', userRules()),
    serve(policies, 'api.Policy', policyRules()),
    serve(tokens, 'api.Token'),
  ];
}

/** Every method that does not follow the CRUD pattern. */
export function customMethods(parts: ApiParts, options: ApiOptions): readonly CustomMethod[] {
  return [
    ...storageClassVerbs(parts),
    ...volumeVerbs(parts),
    ...snapshotVerbs(parts),
    ...serviceVerbs(parts),
    ...instanceVerbs(parts),
    ...logVerbs(parts, options),
  ];
}
