import type { FileDescriptorSet, DescriptorProto, FieldOptions } from '@bufbuild/protobuf/wkt';

/** Number of the extension `kedge.hidden`. */
const hiddenNumber = 50302;
/** The varint of `true`. */
const yes = 1;

/**
 * Whether a field has the option `kedge.hidden`. The option is read without a registry, because the registry is created
 * later from the same set: until then, options of extensions are unknown fields.
 */
function isHidden(options: FieldOptions | undefined): boolean {
  // The last value of a repeated singular field counts.
  const found = options?.$unknown?.filter(({ no }) => no === hiddenNumber).at(-1);
  return found?.data[0] === yes;
}

function hide(message: DescriptorProto): void {
  message.field = message.field.filter(({ options }) => !isHidden(options));
  message.nestedType.forEach(hide);
}

/** Removes the fields with the option `kedge.hidden` from all messages of a set. Changes and returns the set. */
export function hideFields(set: FileDescriptorSet): FileDescriptorSet {
  for (const { messageType } of set.file) messageType.forEach(hide);
  return set;
}
