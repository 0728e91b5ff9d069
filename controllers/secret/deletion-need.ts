import { isDeleting, keyString } from 'kedge';
import type { AdmissionContext } from 'kedge/server';
import { type Secret, snapshots, storageClasses, volumes } from '../kinds/index.js';
import { referencedSecrets } from './reference.js';

/** Whether a volume or snapshot that is being deleted refers to a secret: its driver needs the credential. */
export async function neededByDeletions(
  context: AdmissionContext,
  secret: Pick<Secret, 'namespace' | 'name'>,
): Promise<boolean> {
  const classes = new Map((await context.lookupAll(storageClasses)).map((c) => [c.name, c]));
  const refers = (
    namespace: string,
    className: string | undefined,
    parameters: Readonly<Record<string, string>>,
  ): boolean =>
    referencedSecrets(
      { ...classes.get(className ?? '')?.parameters, ...parameters },
      namespace,
    ).includes(keyString(secret));
  const ofVolume = (await context.lookupAll(volumes))
    .filter(isDeleting)
    .some((v) =>
      refers(v.namespace, v.storageClassName, { ...v.driverParameters, ...v.parameters }),
    );
  if (ofVolume) return true;
  return (await context.lookupAll(snapshots))
    .filter(isDeleting)
    .some((s) => refers(s.namespace, s.storageClassName, { ...s.driverParameters }));
}
