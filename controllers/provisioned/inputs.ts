import type { ApiObject, Manager } from 'kedge';
import { secrets } from '../secret/kind.js';
import { referencedSecrets } from '../references/secret-reference.js';

/** Versions of the secrets that parameters refer to, because a failure may depend on them. */
export function secretVersions(
  manager: Manager,
  parameters: Readonly<Record<string, string>>,
  { namespace = '' }: ApiObject,
): readonly string[] {
  const { lister } = manager.informer(secrets);
  return referencedSecrets(parameters, namespace).map(
    (key) => `${key}@${lister.get(key)?.metadata.resourceVersion ?? 'missing'}`,
  );
}
