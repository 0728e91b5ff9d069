import type { FieldViolation } from 'kedge';
import { parseImage } from './image-reference.js';
import type { Service } from '../kind.js';

/** The violations of `image` and the fields that belong to it. */
export function imageViolations({ runtime, image, imagePull }: Service): readonly FieldViolation[] {
  const violation = (field: string, description: string): FieldViolation => ({
    field,
    description,
  });
  if (runtime === 'process')
    return [
      ...(image ? [violation('image', 'is not used by runtime process; remove it')] : []),
      ...(imagePull ? [violation('imagePull', 'is not used by runtime process; remove it')] : []),
    ];
  if (!image)
    return [violation('image', 'is required for runtime container; or set runtime: process')];
  if (parseImage(image)) return [];
  return [
    violation(
      'image',
      `${JSON.stringify(image.slice(0, 200))} must be [host/]path[:tag][@sha256:digest] of at most 512 characters with the path in lower case, such as redis:7 or registry.example.com/team/app:1.2`,
    ),
  ];
}
