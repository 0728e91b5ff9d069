import type { DescField } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';

/** Maximum depth of nested messages that the fast reader and writer handle. The general codec handles deeper ones. */
export const depthMax = 32;
/** Maximum values of 32-bit fields and enums that they handle. */
export const int32Max = 0x7fff_ffff;
export const uint32Max = 0xffff_ffff;

/** A field with one value that is not a message. */
export type SingleField = DescField & { fieldKind: 'enum' | 'scalar' };

/**
 * Whether a message with this field is left to the general codec: `Object.prototype` has its name, or it is required.
 */
export function isUnusual({ jsonName, presence }: DescField): boolean {
  return jsonName in Object.prototype || presence === FeatureSet_FieldPresence.LEGACY_REQUIRED;
}
