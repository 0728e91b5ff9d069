import type { DescFile } from '@bufbuild/protobuf';
import { statusCodes } from '../../base/index.js';
import { isJsonObject, type JsonObject, type SchemaRegistry, textOf } from '../../rpc/index.js';
import type { CustomMethod } from '../api/call.js';
import type { Comments } from '../schema/openapi.js';
import { describedFile } from './described-file.js';

/** The content of reflection: the served schemas with their served packages. */
export interface ReflectedSchemas {
  readonly schemas: SchemaRegistry;
  readonly packages: readonly string[];
  /** Comments; absent: none. */
  readonly comments?: (() => Promise<Comments>) | undefined;
}

function failure(message: string): JsonObject {
  return { errorResponse: { errorCode: statusCodes.NotFound, errorMessage: message } };
}

class Reflection {
  readonly #reflected: readonly ReflectedSchemas[];

  constructor(reflected: readonly ReflectedSchemas[]) {
    this.#reflected = reflected;
  }

  services(): JsonObject {
    const names = this.#reflected.flatMap(({ schemas, packages }) =>
      packages.flatMap((name) => schemas.services(name).map(({ typeName }) => typeName)),
    );
    return { listServicesResponse: { service: names.sort().map((name) => ({ name })) } };
  }

  /** A file, and those of its imports that were not sent on this stream before. */
  async file(
    find: (schemas: SchemaRegistry) => DescFile | undefined,
    sent: Set<string>,
  ): Promise<JsonObject> {
    for (const { schemas, comments } of this.#reflected) {
      const found = find(schemas);
      if (!found) continue;
      const files: DescFile[] = [];
      const add = (file: DescFile, always: boolean): void => {
        if (sent.has(file.proto.name) && !always) return;
        sent.add(file.proto.name);
        files.push(file);
        for (const dependency of file.dependencies) add(dependency, false);
      };
      add(found, true);
      const written = (await comments?.()) ?? {};
      const fileDescriptorProto = files.map((file) =>
        describedFile(file, written).toString('base64'),
      );
      return { fileDescriptorResponse: { fileDescriptorProto } };
    }
    return failure('no such symbol or file is served');
  }

  async answer(request: JsonObject, sent: Set<string>): Promise<JsonObject> {
    if ('listServices' in request) return this.services();
    const symbol = textOf(request, 'fileContainingSymbol');
    if (symbol !== '') return this.file((schemas) => schemas.fileOf(symbol), sent);
    const name = textOf(request, 'fileByFilename');
    if (name !== '') return this.file((schemas) => schemas.fileNamed(name), sent);
    const extension = request.fileContainingExtension;
    if (isJsonObject(extension)) {
      const type = textOf(extension, 'containingType');
      const number = Number(extension.extensionNumber);
      return this.file((schemas) => schemas.fileOfExtension(type, number), sent);
    }
    return failure(
      'this kind of reflection request is not supported; list services, or request a symbol',
    );
  }
}

/** Returns the method of the server reflection protocol, for tools such as grpcurl. It needs a token. */
export function reflectionMethod(reflected: readonly ReflectedSchemas[]): CustomMethod {
  const reflection = new Reflection(reflected);
  async function* answers(
    first: JsonObject,
    further: AsyncIterable<JsonObject>,
  ): AsyncIterable<JsonObject> {
    const sent = new Set<string>();
    const whole = async (request: JsonObject): Promise<JsonObject> => ({
      validHost: textOf(request, 'host'),
      originalRequest: request,
      ...(await reflection.answer(request, sent)),
    });
    yield await whole(first);
    for await (const request of further) yield await whole(request);
  }
  return {
    id: 'ServerReflection.ServerReflectionInfo',
    access: { type: 'authenticated', reads: true },
    handler: {
      type: 'bidi',
      opening: (first) => first,
      call: (_context, first, further) => answers(first, further),
    },
  };
}
