import { jsonEqual, type Lister } from 'kedge';
import type { Instance } from '../../instance/kind.js';

/**
 * The image that an instance must run, by digest: the one that it ran before, else that of another instance with the
 * same template, so that all replicas run the same image although a tag may have been moved. Undefined if none ran yet.
 */
export function pinnedImage(
  lister: Pick<Lister<Instance>, 'byIndex'>,
  instance: Instance,
): string | undefined {
  if (instance.imageDigest) return instance.imageDigest;
  const { namespace, service, template } = instance;
  const others = lister.byIndex('service', `${namespace}/${service}`);
  return others.find((other) => other.imageDigest && jsonEqual(other.template, template))
    ?.imageDigest;
}
