import type { AnyKind } from '../object/index.js';
import { httpRoute, type HttpRoute } from './options.js';
import type { DescMessage, DescService, SchemaRegistry } from './schema-registry.js';

/** The verbs of standard methods. */
export type StandardVerb =
  | 'Get'
  | 'List'
  | 'Create'
  | 'Update'
  | 'UpdateStatus'
  | 'Delete'
  | 'Watch';

/** One RPC: its gRPC path, and its REST route if it has one. */
export interface MethodInfo {
  /** Service and name of the method, such as `LampService.Get`. */
  readonly id: string;
  /** Path of gRPC calls, such as `/api.LampService/Get`. */
  readonly grpcPath: string;
  readonly input: DescMessage;
  readonly output: DescMessage;
  /** The answer is a stream. */
  readonly streaming: boolean;
  /** The request is a stream; such a method has no REST route. */
  readonly clientStreaming: boolean;
  readonly route: HttpRoute | undefined;
  /** Verb and kind of a standard method; undefined for other methods. */
  readonly standard: { readonly verb: StandardVerb; readonly kind: AnyKind } | undefined;
}

const standardName = /^(Get|List|Create|UpdateStatus|Update|Delete|Watch)(\w*)$/;

function standardOf(
  service: DescService,
  method: string,
  kinds: readonly AnyKind[],
): MethodInfo['standard'] {
  const match = standardName.exec(method);
  if (!match) return undefined;
  const subject = (match[2] ? match[2] : service.name.replace(/Service$/, '')).toLowerCase();
  const kind = kinds.find((k) => k.kind.toLowerCase() === subject || k.plural === subject);
  return kind && { verb: match[1] as StandardVerb, kind };
}

/** The request field with the object: the name of the kind in lowerCamelCase. */
export function bodyField(kind: AnyKind): string {
  return kind.kind.charAt(0).toLowerCase() + kind.kind.slice(1);
}

/** All methods of a package with their routes and, by naming convention, their kinds and verbs. */
export function methodTable(
  schemas: SchemaRegistry,
  packageName: string,
  kinds: readonly AnyKind[],
): readonly MethodInfo[] {
  return schemas.services(packageName).flatMap((service) =>
    service.methods.map((method) => ({
      id: `${service.name}.${method.name}`,
      grpcPath: `/${service.typeName}/${method.name}`,
      input: method.input,
      output: method.output,
      streaming: method.methodKind === 'server_streaming' || method.methodKind === 'bidi_streaming',
      clientStreaming:
        method.methodKind === 'client_streaming' || method.methodKind === 'bidi_streaming',
      route: httpRoute(schemas.registry, method),
      standard: standardOf(service, method.name, kinds),
    })),
  );
}
