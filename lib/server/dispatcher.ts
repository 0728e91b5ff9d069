import { StatusError } from '../base/index.js';
import { type JsonObject, present } from '../rpc/index.js';
import type { ServedKind } from './admission.js';
import type { Access, AccessControl, Authentication, Identity } from './auth/index.js';
import { anonymous, type CallContext, type CustomMethod } from './call.js';
import type { MethodInfo, StandardVerb } from '../rpc/index.js';
import { requestNamespace, type Resources } from './resources.js';

/** What the chain is made of. */
export interface DispatcherOptions {
  readonly methods: readonly MethodInfo[];
  readonly served: ReadonlyMap<string, ServedKind>;
  readonly custom: readonly CustomMethod[];
  readonly authenticator: Authentication;
  readonly authorizer: AccessControl;
  readonly resources: Resources;
}

const verbs: Readonly<Record<StandardVerb, string>> = {
  Get: 'get',
  List: 'list',
  Create: 'create',
  Update: 'update',
  UpdateStatus: 'update',
  Delete: 'delete',
  Watch: 'watch',
};

/**
 * The chain that both transports share: authentication, authorization, the handler. It knows no
 * transport, so what holds for one holds for the other.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #custom: ReadonlyMap<string, CustomMethod>;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#custom = new Map(options.custom.map((method) => [method.id, method]));
    for (const method of options.methods) {
      if (!method.standard && !this.#custom.has(method.id))
        throw new TypeError(`method ${method.id} has no handler`);
    }
  }

  get methods(): readonly MethodInfo[] {
    return this.#options.methods;
  }

  /** Proves who calls, before anything of the request is read. */
  async authenticate(method: MethodInfo, header: string | undefined): Promise<Identity> {
    if (this.#custom.get(method.id)?.access.type === 'anonymous') return anonymous;
    return this.#options.authenticator.authenticate(header);
  }

  /** One request, one answer. */
  async unary(method: MethodInfo, context: CallContext, request: JsonObject): Promise<JsonObject> {
    await this.#authorize(method, context, request);
    const custom = this.#custom.get(method.id);
    if (custom?.handler.type === 'unary')
      return present(method.output, await custom.handler.call(context, request));
    const { served, verb } = this.#standard(method);
    if (verb === 'Watch') throw unimplemented(method);
    return this.#options.resources.unary(verb, served, context, request);
  }

  /** One request, a stream of answers. Authorization is checked before the first answer. */
  async *stream(
    method: MethodInfo,
    context: CallContext,
    request: JsonObject,
  ): AsyncIterable<JsonObject> {
    await this.#authorize(method, context, request);
    const custom = this.#custom.get(method.id);
    if (custom?.handler.type === 'stream') {
      yield* custom.handler.call(context, request);
      return;
    }
    const { served } = this.#standard(method);
    yield* this.#options.resources.watch(served, context, request);
  }

  #standard(method: MethodInfo): { readonly served: ServedKind; readonly verb: StandardVerb } {
    const served = method.standard && this.#options.served.get(method.standard.kind.kind);
    if (!method.standard || !served) throw unimplemented(method);
    return { served, verb: method.standard.verb };
  }

  async #authorize(method: MethodInfo, context: CallContext, request: JsonObject): Promise<void> {
    const access = this.#accessOf(method, request);
    if (access) await this.#options.authorizer.demand(context.identity, access);
  }

  #accessOf(method: MethodInfo, request: JsonObject): Access | undefined {
    const custom = this.#custom.get(method.id);
    if (custom) {
      const { access } = custom;
      if (access.type !== 'policy') return undefined;
      const named = typeof request.namespace === 'string' ? request.namespace : '';
      const namespace = access.scope === 'Cluster' ? undefined : everywhere(named || 'default');
      return { resource: access.resource, verb: access.verb, namespace };
    }
    const { served, verb } = this.#standard(method);
    const { plural } = served.kind;
    const resource = verb === 'UpdateStatus' ? `${plural}/status` : plural;
    const namespace = requestNamespace(served.kind, request);
    return { resource, verb: verbs[verb], namespace: namespace && everywhere(namespace) };
  }
}

/** `-` reaches into every namespace, so it needs a rule for all. */
function everywhere(namespace: string): string {
  return namespace === '-' ? '*' : namespace;
}

function unimplemented(method: MethodInfo): StatusError {
  return new StatusError({
    code: 'Unimplemented',
    reason: 'Unimplemented',
    message: `${method.id} is not implemented`,
  });
}
