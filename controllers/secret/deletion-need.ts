import { isDeleting, keyString } from 'kedge';
import type { AdmissionContext } from 'kedge/server';
import type { CredentialsByDriver } from '@kedge/driver-sdk/parameters';
import { snapshots } from '../snapshot/kind.js';
import { storageClasses } from '../storage-class/kind.js';
import {
  capturedOwn,
  type NeededOf,
  secretsWithClass,
  secretsWithoutClass,
} from '../references/needed-parameters.js';
import { liveClass } from '../references/live-class.js';
import { volumes } from '../volume/kind.js';
import type { Secret } from './kind.js';
import { referencedSecrets } from '../references/secret-reference.js';

const status = ['driver', 'driverParameters', 'ownParameters'] as const;

/** A snapshot with the parameters that its source had itself. */
function withSource(snapshot: NeededOf): NeededOf {
  return { ...snapshot, parameters: capturedOwn(snapshot) };
}

/** Whether a volume or snapshot that is being deleted refers to a secret: its driver needs the credential. */
export async function neededByDeletions(
  context: AdmissionContext,
  secret: Pick<Secret, 'namespace' | 'name'>,
  credentials: CredentialsByDriver,
): Promise<boolean> {
  const key = keyString(secret);
  const needsCaptured = (object: NeededOf): boolean =>
    secretsWithoutClass(object, credentials).includes(key);
  const byVolumes = await context.lookupBy(volumes, 'neededSecret', key, { status });
  if (byVolumes.some(needsCaptured)) return true;
  const bySnapshots = await context.lookupBy(snapshots, 'neededSecret', key, { status });
  if (bySnapshots.map(withSource).some(needsCaptured)) return true;
  for (const storageClass of await context.lookupAll(storageClasses)) {
    const { name, parameters } = storageClass;
    // A short reference refers to a secret in the volume's namespace.
    if (!referencedSecrets(parameters, secret.namespace).includes(key)) continue;
    // Credentials are those of the class now, also if others were captured.
    const needs = (object: NeededOf): boolean =>
      liveClass(object, storageClass) !== undefined &&
      secretsWithClass(object, storageClass, credentials).includes(key);
    const ofClass = await context.lookupBy(volumes, 'storageClass', name, { status });
    if (ofClass.filter(isDeleting).some(needs)) return true;
    const copies = await context.lookupBy(snapshots, 'storageClass', name, { status });
    if (copies.filter(isDeleting).map(withSource).some(needs)) return true;
  }
  return false;
}
