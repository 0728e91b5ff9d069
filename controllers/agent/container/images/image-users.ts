import type { Instance } from '../../../instance/kind.js';
import { imageName, parseImage } from '../../../service/image/image-reference.js';
import type { EngineImage } from '../engine/engine-images.js';

/** A name without the parts that the engine omits for Docker Hub. */
export function familiar(name: string): string {
  return name.replace(/^(?:index\.)?docker\.io\//, '').replace(/^library\//, '');
}

/**
 * The names of the images that an instance needs: that of its running workload, and that of its template for the next
 * start.
 */
function neededNames({ imageDigest, template }: Instance): readonly string[] {
  const reference = template.image ? parseImage(template.image) : undefined;
  return [imageDigest, reference && imageName(reference)].flatMap((name) =>
    name ? [familiar(name)] : [],
  );
}

/** The instances that use an image, as `<namespace>/<name>`. */
export function usersOf(
  { id, tags, digests }: EngineImage,
  instances: readonly Instance[],
): readonly string[] {
  const names = new Set([id, ...tags, ...digests].map(familiar));
  return instances
    .filter((instance) => neededNames(instance).some((name) => names.has(name)))
    .map(({ namespace, name }) => `${namespace}/${name}`);
}
