import { jsonEqual, type Lister } from 'kedge';
import type { Instance } from '../../instance/kind.js';

/**
 * The image digest that an instance must run: that of its previous run, else that of another instance with the same
 * template. All replicas run the same image although its tag may have been moved. Undefined before the first run.
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
