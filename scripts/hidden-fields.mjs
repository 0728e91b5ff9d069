// Removes the fields that the API does not have (option kedge.hidden) from a descriptor set.
import { clone, createFileRegistry, getOption } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

// Field numbers of descriptor.proto, which form the paths of comments.
const messagesOfFile = 4;
const fieldsOfMessage = 2;
const messagesOfMessage = 3;

/** A copy of the set without hidden fields; comments keep their targets. */
export function withoutHidden(set) {
  const registry = createFileRegistry(set);
  const hidden = registry.getExtension('kedge.hidden');
  const copy = clone(FileDescriptorSetSchema, set);
  for (const file of copy.file) {
    if (!file.package.startsWith('api')) continue;
    const walk = (message, typeName, path) => {
      const fields = registry.getMessage(typeName).fields;
      // In reverse order, so that the paths of earlier ones stay valid.
      for (let at = message.field.length - 1; at >= 0; at -= 1) {
        const { name } = message.field[at];
        const field = fields.find((each) => each.name === name);
        if (!field || !getOption(field, hidden)) continue;
        message.field.splice(at, 1);
        dropPlace(file.sourceCodeInfo, [...path, fieldsOfMessage], at);
      }
      message.nestedType.forEach((nested, at) => {
        if (nested.options?.mapEntry) return;
        walk(nested, `${typeName}.${nested.name}`, [...path, messagesOfMessage, at]);
      });
    };
    file.messageType.forEach((message, at) =>
      walk(message, `${file.package}.${message.name}`, [messagesOfFile, at]),
    );
  }
  return copy;
}

/** Removes the comments of entry `at` of a list and shifts those of later entries. */
function dropPlace(info, list, at) {
  if (!info) return;
  const isIn = ({ path }) => list.every((part, i) => path[i] === part) && path.length > list.length;
  info.location = info.location.filter((place) => !isIn(place) || place.path[list.length] !== at);
  for (const place of info.location.filter(isIn))
    if (place.path[list.length] > at) place.path[list.length] -= 1;
}
