import { isDeleting, keyString } from 'kedge';
import type { AdmissionContext } from 'kedge/server';
import { type Snapshot, snapshots } from '../snapshot/kind.js';
import { storageClasses } from '../storage-class/kind.js';
import { capturedOwn, type NeededOf, secretsWithClass } from '../references/needed-parameters.js';
import { liveClass } from '../references/live-class.js';
import { type Volume, volumes } from '../volume/kind.js';
import type { Secret } from './kind.js';
import { referencedSecrets } from '../references/secret-reference.js';

/** Whether a volume or snapshot that is being deleted refers to a secret: its driver needs the credential. */
export async function neededByDeletions(
  context: AdmissionContext,
  secret: Pick<Secret, 'namespace' | 'name'>,
): Promise<boolean> {
  const key = keyString(secret);
  if ((await context.lookupBy(volumes, 'neededSecret', key)).length > 0) return true;
  if ((await context.lookupBy(snapshots, 'neededSecret', key)).length > 0) return true;
  const status = ['driver', 'driverParameters', 'ownParameters'] as const;
  for (const storageClass of await context.lookupAll(storageClasses)) {
    const { name, parameters } = storageClass;
    const isOf = (object: Pick<Volume | Snapshot, 'driver'>): boolean =>
      liveClass(object, storageClass) !== undefined;
    // A short reference refers to a secret in the volume's namespace.
    if (!referencedSecrets(parameters, secret.namespace).includes(key)) continue;
    // Credentials are those of the class now, also if others were captured.
    const needs = (object: NeededOf): boolean => secretsWithClass(object, parameters).includes(key);
    const ofClass = await context.lookupBy(volumes, 'storageClass', name, { status });
    if (ofClass.filter(isDeleting).some((v) => isOf(v) && needs(v))) return true;
    const copies = await context.lookupBy(snapshots, 'storageClass', name, { status });
    const ofSource = (s: NeededOf): NeededOf => ({ ...s, parameters: capturedOwn(s) });
    if (copies.filter(isDeleting).some((s) => isOf(s) && needs(ofSource(s)))) return true;
  }
  return false;
}
