import { jsonEqual, type Lister } from 'kedge';
import type { Instance } from '../../instance/kind.js';
import { parseImage } from '../../service/image/image-reference.js';
import { familiar } from '../container/images/image-users.js';

/**
 * The image digest that an instance must run: that of its previous run, else that of another instance with the same
 * template, so that replicas run the same image although its tag was moved. Undefined if neither has a digest.
 *
 * The agent of another node writes the digest of its instances: it may choose among the contents of the repository of
 * the template, and no other image, which would run here with the secrets and volumes of this instance.
 */
export function pinnedImage(
  lister: Pick<Lister<Instance>, 'byIndex'>,
  instance: Instance,
): string | undefined {
  if (instance.imageDigest) return instance.imageDigest;
  const { namespace, service, template, node } = instance;
  const others = lister.byIndex('service', `${namespace}/${service}`);
  return others.find(
    (other) =>
      other.imageDigest &&
      jsonEqual(other.template, template) &&
      (other.node === node || isContentOf(other.imageDigest, template.image)),
  )?.imageDigest;
}

/** Whether a digest is one of the image's repository. */
function isContentOf(digest: string, image: string | undefined): boolean {
  const content = parseImage(digest);
  const wanted = image === undefined ? undefined : parseImage(image);
  if (!wanted || content?.isDigest !== true) return false;
  return familiar(content.repository) === familiar(wanted.repository);
}
