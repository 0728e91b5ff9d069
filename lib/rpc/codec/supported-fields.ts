import type { DescField } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';

/** Depth of nested messages up to which the reader and the writer do not leave a message to the general codec. */
export const depthMax = 32;
/** The largest numbers that they do not leave to it. */
export const int32Max = 0x7fff_ffff;
export const uint32Max = 0xffff_ffff;

/** A field with one value that is not a message. */
export type SingleField = DescField & { fieldKind: 'enum' | 'scalar' };

/** Whether a message with this field is left to the general codec: a prototype has its name too, or it must be set. */
export function isUnusual({ jsonName, presence }: DescField): boolean {
  return jsonName in Object.prototype || presence === FeatureSet_FieldPresence.LEGACY_REQUIRED;
}
