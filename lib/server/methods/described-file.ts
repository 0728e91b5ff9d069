import { clone, create, type DescFile, toBinary } from '@bufbuild/protobuf';
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  FileDescriptorProtoSchema,
  type SourceCodeInfo_Location,
  SourceCodeInfo_LocationSchema,
  SourceCodeInfoSchema,
} from '@bufbuild/protobuf/wkt';
import type { Comments } from '../schema/openapi.js';

/** Field numbers of descriptors, which form the path of a comment. */
const parts = {
  message: 4,
  enum: 5,
  service: 6,
  field: 2,
  nestedMessage: 3,
  nestedEnum: 4,
  value: 2,
  method: 2,
} as const;

/** A file's descriptor as protobuf, with comments in the form that tools read. */
export function describedFile(file: DescFile, comments: Comments): Buffer {
  const locations: SourceCodeInfo_Location[] = [];
  const note = (name: string, path: readonly number[]): void => {
    const text = comments[name];
    if (text !== undefined)
      locations.push(
        create(SourceCodeInfo_LocationSchema, {
          path: [...path],
          span: [0, 0, 0],
          leadingComments: ` ${text}\n`,
        }),
      );
  };
  const noteEnum = (desc: EnumDescriptorProto, prefix: string, path: readonly number[]): void => {
    const name = `${prefix}.${desc.name}`;
    note(name, path);
    desc.value.forEach((value, at) => note(`${name}.${value.name}`, [...path, parts.value, at]));
  };
  const noteMessage = (desc: DescriptorProto, prefix: string, path: readonly number[]): void => {
    const name = `${prefix}.${desc.name}`;
    note(name, path);
    desc.field.forEach((field, at) => note(`${name}.${field.name}`, [...path, parts.field, at]));
    desc.nestedType.forEach((nested, at) =>
      noteMessage(nested, name, [...path, parts.nestedMessage, at]),
    );
    desc.enumType.forEach((inner, at) => noteEnum(inner, name, [...path, parts.nestedEnum, at]));
  };
  const { proto } = file;
  proto.messageType.forEach((desc, at) => noteMessage(desc, proto.package, [parts.message, at]));
  proto.enumType.forEach((desc, at) => noteEnum(desc, proto.package, [parts.enum, at]));
  proto.service.forEach((desc, at) => {
    const name = `${proto.package}.${desc.name}`;
    note(name, [parts.service, at]);
    desc.method.forEach((method, index) =>
      note(`${name}.${method.name}`, [parts.service, at, parts.method, index]),
    );
  });
  const described = clone(FileDescriptorProtoSchema, proto);
  described.sourceCodeInfo = create(SourceCodeInfoSchema, { location: locations });
  return Buffer.from(toBinary(FileDescriptorProtoSchema, described));
}
