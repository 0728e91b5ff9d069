import { isDeleting, keyString } from 'kedge';
import type { AdmissionContext } from 'kedge/server';
import { credentialsNamed } from '@kedge/driver-sdk/parameters';
import { type Snapshot, snapshots } from '../snapshot/kind.js';
import { storageClasses } from '../storage-class/kind.js';
import { mergeWithClass } from '../references/credential-merge.js';
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
  const status = ['driver'] as const;
  for (const storageClass of await context.lookupAll(storageClasses)) {
    const { name, parameters } = storageClass;
    const isOf = (object: Pick<Volume | Snapshot, 'driver'>): boolean =>
      liveClass(object, storageClass) !== undefined;
    // A short reference refers to a secret in the volume's namespace.
    if (!referencedSecrets(parameters, secret.namespace).includes(key)) continue;
    // Credentials are those of the class now, also if others were captured.
    const refers = (namespace: string, own: Readonly<Record<string, string>> = {}): boolean =>
      referencedSecrets(
        mergeWithClass(credentialsNamed({ ...parameters, ...own }), parameters ?? {}, own),
        namespace,
      ).includes(key);
    const ofClass = await context.lookupBy(volumes, 'storageClass', name, { status });
    if (ofClass.filter(isDeleting).some((v) => isOf(v) && refers(v.namespace, v.parameters)))
      return true;
    const copies = await context.lookupBy(snapshots, 'storageClass', name, { status });
    if (copies.filter(isDeleting).some((s) => isOf(s) && refers(s.namespace))) return true;
  }
  return false;
}
