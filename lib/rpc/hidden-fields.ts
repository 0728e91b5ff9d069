import type { FileDescriptorSet, DescriptorProto, FieldOptions } from '@bufbuild/protobuf/wkt';

/** Number of the extension `kedge.hidden`. */
const hiddenNumber = 50302;
/** The varint that `true` is written as. */
const yes = 1;

/** Read without a registry, which is made of the set only after this: options of ours are unknown fields until then. */
function isHidden(options: FieldOptions | undefined): boolean {
  // Of a field that is there twice the last one counts.
  const found = options?.$unknown?.filter(({ no }) => no === hiddenNumber).at(-1);
  return found?.data[0] === yes;
}

function hide(message: DescriptorProto): void {
  message.field = message.field.filter(({ options }) => !isHidden(options));
  message.nestedType.forEach(hide);
}

/** Takes the fields with the option `kedge.hidden` out of all messages of a set. */
export function hideFields(set: FileDescriptorSet): FileDescriptorSet {
  for (const { messageType } of set.file) messageType.forEach(hide);
  return set;
}
