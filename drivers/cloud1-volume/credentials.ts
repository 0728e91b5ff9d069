import { classCalls, type ProviderCall, type Refusal } from '@kedge/driver-sdk/provider';

/** A scope of tokens, and the functions that need it (specification section 2.5). */
interface Scope {
  readonly scope: string;
  readonly needed: string;
}

const provision = 'provisioning, observing and deleting volumes';
const action = 'attaching, detaching and growing volumes';
const snapshots = 'snapshots';

/** The scope that each call needs, by the name of the call. The driver works without that of `listAllSnapshots`. */
const scopes: Readonly<Record<string, Scope>> = {
  listVolumes: { scope: 'block_storage:read', needed: provision },
  getVolume: { scope: 'block_storage:read', needed: provision },
  createVolume: { scope: 'block_storage:create', needed: provision },
  deleteVolume: { scope: 'block_storage:delete', needed: provision },
  attachVolume: { scope: 'block_storage_action:create', needed: action },
  detachVolume: { scope: 'block_storage_action:create', needed: action },
  resizeVolume: { scope: 'block_storage_action:create', needed: action },
  getAction: { scope: 'actions:read', needed: 'observing the end of attach, detach and growth' },
  listDroplets: { scope: 'droplet:read', needed: 'finding the Droplet of a node' },
  listSnapshots: { scope: 'block_storage_snapshot:read', needed: snapshots },
  getSnapshot: { scope: 'block_storage_snapshot:read', needed: snapshots },
  createSnapshot: { scope: 'block_storage_snapshot:create', needed: snapshots },
  deleteSnapshot: { scope: 'block_storage_snapshot:delete', needed: snapshots },
};

/** Every scope once. */
export const allScopes: readonly Scope[] = [
  ...new Map(Object.values(scopes).map((one) => [one.scope, one])).values(),
];

/**
 * Returns the message for rejected credentials (specification section 5.3). It names the scope that the call needs,
 * because status 401 means either a missing scope or an invalid token; 403 means a missing scope.
 */
export function rejectedMessage(
  { status }: Refusal,
  { name, about }: ProviderCall,
  description: string,
): string {
  const scope = scopes[name];
  const needs = scope ? `; ${name} needs scope ${scope.scope}, for ${scope.needed}` : '';
  const repeated = about === classCalls ? '' : ': the call is repeated with the new token';
  const remedy = `renew the token or add the scope${repeated}`;
  return `provider rejected credentials: DigitalOcean answered ${status}: ${description}${needs}; ${remedy}`;
}
