import { AdminServiceService } from '../gen/api/admin.js';
import { AuthServiceService } from '../gen/api/auth.js';
import { CastServiceService } from '../gen/api/cast.js';
import { ConfigmapServiceService } from '../gen/api/configmap.js';
import { EventServiceService } from '../gen/api/event.js';
import { ExecServiceService } from '../gen/api/exec.js';
import { HealthServiceService } from '../gen/api/health.js';
import { InstanceServiceService } from '../gen/api/instance.js';
import { LogServiceService } from '../gen/api/log.js';
import { NamespaceServiceService } from '../gen/api/namespace.js';
import { NodeServiceService } from '../gen/api/node.js';
import { SecretServiceService } from '../gen/api/secret.js';
import { ServiceServiceService } from '../gen/api/service.js';
import { SnapshotServiceService } from '../gen/api/snapshot.js';
import { StorageClassServiceService } from '../gen/api/storage_class.js';
import { VolumeServiceService } from '../gen/api/volume.js';

/** Every service with its methods and codecs, as generated. */
export const serviceDefinitions = {
  admin: AdminServiceService,
  auth: AuthServiceService,
  cast: CastServiceService,
  configmap: ConfigmapServiceService,
  event: EventServiceService,
  exec: ExecServiceService,
  health: HealthServiceService,
  instance: InstanceServiceService,
  log: LogServiceService,
  namespace: NamespaceServiceService,
  node: NodeServiceService,
  secret: SecretServiceService,
  service: ServiceServiceService,
  snapshot: SnapshotServiceService,
  storageClass: StorageClassServiceService,
  volume: VolumeServiceService,
} as const;
