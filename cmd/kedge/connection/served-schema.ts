import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type DescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { type AnyKind, StatusError } from 'kedge/objects';
import { type DescMessage, isJsonObject, SchemaRegistry } from 'kedge/rpc';
import { connectTo } from './api.js';

/** A kind as described by the server. */
export interface ServedSchema {
  readonly schemas: SchemaRegistry;
  readonly message: DescMessage;
  /** The comment of a message, field or value, by its full name; empty without one. */
  readonly comment: (fullName: string) => string;
}

/** Sorts files so that each one follows the files that it imports. */
function sorted(files: readonly FileDescriptorProto[]): readonly FileDescriptorProto[] {
  const byName = new Map(files.map((file) => [file.name, file]));
  const out = new Set<FileDescriptorProto>();
  const add = (file: FileDescriptorProto | undefined): void => {
    if (!file || out.has(file)) return;
    for (const name of file.dependency) add(byName.get(name));
    out.add(file);
  };
  for (const file of files) add(file);
  return [...out];
}

/** Adds the comments of the messages, fields and enum values of a file to `into`, by full name. */
function commentsOf(file: FileDescriptorProto, into: Map<string, string>): void {
  const byPath = new Map(
    (file.sourceCodeInfo?.location ?? []).map(({ path, leadingComments }) => [
      path.join('.'),
      leadingComments.trim(),
    ]),
  );
  const note = (name: string, path: string): void => {
    const text = byPath.get(path);
    if (text) into.set(name, text);
  };
  const walk = (message: DescriptorProto, prefix: string, path: string): void => {
    const name = `${prefix}.${message.name}`;
    note(name, path);
    message.field.forEach((field, at) => note(`${name}.${field.name}`, `${path}.2.${at}`));
    message.nestedType.forEach((nested, at) => walk(nested, name, `${path}.3.${at}`));
    message.enumType.forEach((desc, at) =>
      desc.value.forEach((value, index) =>
        note(`${name}.${desc.name}.${value.name}`, `${path}.4.${at}.2.${index}`),
      ),
    );
  };
  file.messageType.forEach((message, at) => walk(message, file.package, `4.${at}`));
}

/**
 * Reads the schema of a kind from the server by gRPC reflection.
 * @throws StatusError NotFound if the server does not have the kind
 */
export async function servedSchema({ kind, plural }: AnyKind): Promise<ServedSchema> {
  const client = await connectTo('grpc.reflection.v1');
  const never = new AbortController().signal;
  const symbol = `api.${kind}`;
  try {
    const questions = (async function* () {
      yield await Promise.resolve({ fileContainingSymbol: symbol });
    })();
    const id = 'ServerReflection.ServerReflectionInfo';
    for await (const answer of client.duplex(id, questions, never)) {
      const { fileDescriptorResponse: found } = answer;
      if (!isJsonObject(found)) break;
      const texts = Array.isArray(found.fileDescriptorProto) ? found.fileDescriptorProto : [];
      const file = sorted(
        texts.map((text: unknown) =>
          fromBinary(FileDescriptorProtoSchema, Buffer.from(String(text), 'base64')),
        ),
      );
      const comments = new Map<string, string>();
      for (const each of file) commentsOf(each, comments);
      const set = create(FileDescriptorSetSchema, { file: [...file] });
      const bytes = Buffer.from(toBinary(FileDescriptorSetSchema, set)).toString('base64');
      const schemas = new SchemaRegistry(bytes);
      const comment = (name: string): string => comments.get(name) ?? '';
      return { schemas, message: schemas.message(symbol), comment };
    }
  } finally {
    client.close();
  }
  throw new StatusError({
    code: 'NotFound',
    reason: 'NotServed',
    message: `this server does not serve ${plural}; upgrade it to the release of this program`,
  });
}
