import type {
  Server,
  ServerDuplexStream,
  ServiceDefinition,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { StatusError } from '../../base/index.js';
import type { MethodInfo } from '../../rpc/index.js';
import type { StatusOf } from './errors.js';

/** Messages stay bytes: they are decoded in the handler. */
const identity = (bytes: Buffer): Buffer => bytes;

/** The services of the methods, in the form of grpc-js. */
export function servicesOf(
  methods: readonly MethodInfo[],
  handlerOf: (method: MethodInfo) => UntypedServiceImplementation[string],
): [ServiceDefinition, UntypedServiceImplementation][] {
  const services = new Map<string, [ServiceDefinition, UntypedServiceImplementation]>();
  for (const method of methods) {
    const service = method.grpcPath.split('/')[1] ?? '';
    const entry = services.get(service) ?? [{}, {}];
    services.set(service, entry);
    (entry[0] as Record<string, ServiceDefinition[string]>)[method.id] = {
      path: method.grpcPath,
      requestStream: method.clientStreaming,
      responseStream: method.streaming,
      requestSerialize: identity,
      requestDeserialize: identity,
      responseSerialize: identity,
      responseDeserialize: identity,
    };
    entry[1][method.id] = handlerOf(method);
  }
  return [...services.values()];
}

/**
 * Answers calls of unknown methods. The answer of grpc-js itself is sent to unauthenticated callers and has no hook.
 * @returns false if grpc-js has changed: then its own answer applies
 */
export function answerUnknown(server: Server, statusOf: StatusOf): boolean {
  const routes = server as unknown as { _retrieveHandler?(path: string): object | null };
  // Not a public API of grpc-js. Without it a server works but discloses its methods.
  const known = routes._retrieveHandler?.bind(routes);
  if (!known) return false;
  const anyPath = '*';
  const handler = (call: ServerDuplexStream<Buffer, Buffer>): void => refuse(call, statusOf);
  server.register(anyPath, handler, identity, identity, 'bidi');
  // The path of the handler is the path of the call.
  routes._retrieveHandler = (path) => known(path) ?? { ...known(anyPath), path };
  return true;
}

function refuse(call: ServerDuplexStream<Buffer, Buffer>, statusOf: StatusOf): void {
  const path = call.getPath();
  call.on('error', () => undefined);
  const message = `${path} is not a method of this API; reflection lists all methods`;
  const error = new StatusError({ code: 'Unimplemented', reason: 'Unimplemented', message });
  call.emit('error', statusOf({ id: path }, error));
}
