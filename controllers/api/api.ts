import type { Clock } from 'kedge';
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
import type { Runtime } from '../agent/index.js';
import { backupVerbs, type OnlineBackups } from '../backup/index.js';
import { configmapRules } from '../configmap/index.js';
import { eventRules } from '../event/index.js';
import { execVerbs } from '../exec/index.js';
import { healthVerbs } from '../health/index.js';
import { instanceRules, instanceVerbs } from '../instance/index.js';
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
import { logVerbs } from '../log/index.js';
import { namespaceRules } from '../namespace/index.js';
import { nodeVerbs } from '../node/index.js';
import { accessVerbs, policyRules, tokenRules, userRules } from '../access/admission.js';
import { registryRules } from '../registry/index.js';
import type { ControllerPolicy } from '../policy/policy.js';
import { type KeyRotation, keyVerbs, type Sealer, secretRules } from '../secret/index.js';
import { serviceRules, serviceVerbs } from '../service/index.js';
import { snapshotRules, snapshotVerbs } from '../snapshot/index.js';
import { storageClassRules, storageClassVerbs } from '../storage-class/index.js';
import { volumeRules, volumeVerbs } from '../volume/index.js';

/** What the rules of all kinds look at. */
export interface ApiOptions {
  readonly drivers: DriverRegistry;
  readonly sealer: Sealer;
  readonly runtimes: readonly Runtime[];
  readonly defaultStorageClass: string | undefined;
  readonly rotation: KeyRotation;
  readonly backups: OnlineBackups;
  readonly clock: Clock;
  /** Default: what applies where nothing is configured. */
  readonly policy?: ControllerPolicy;
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
    serve(tokens, 'api.Token', tokenRules()),
    serve(configmaps, 'api.Configmap', configmapRules()),
    serve(events, 'api.Event', eventRules(options.clock)),
    serve(registries, 'api.Registry', registryRules(options.sealer)),
  ];
}

/** Every method that does not follow the CRUD pattern. */
export function customMethods(parts: ApiParts, options: ApiOptions): readonly CustomMethod[] {
  return [
    ...storageClassVerbs(parts),
    ...volumeVerbs(parts),
    ...snapshotVerbs(parts, options.sealer),
    ...serviceVerbs(parts),
    ...instanceVerbs(parts),
    ...logVerbs(parts, options),
    ...execVerbs(parts, options),
    ...healthVerbs(parts),
    ...nodeVerbs(parts),
    ...accessVerbs(parts),
    ...keyVerbs(options.rotation),
    ...backupVerbs(options.backups),
  ];
}
