import { type StatusCode, StatusError } from '../../base/index.js';
import {
  bodyField,
  isJsonObject,
  type JsonObject,
  type MethodInfo,
  type StandardVerb,
  textOf,
} from '../../rpc/index.js';
import type { ServedKind } from '../api/served-kind.js';
import type { Access } from '../auth/index.js';
import type { CustomMethod, MethodAccess, RecordedAccess } from '../api/call.js';
import { normalizedRequest } from './normalized-request.js';
import { rightVerbs } from '../api/right-verbs.js';
import { requestNamespace } from '../objects/request-key.js';

type Named = Pick<Access, 'resource' | 'verb'>;

/** The right that each method needs, from its declaration. */
export class MethodRights {
  readonly #served: ReadonlyMap<string, ServedKind>;
  readonly #custom: ReadonlyMap<string, CustomMethod>;
  /** Cached, because every call needs it twice. */
  readonly #named = new Map<MethodInfo, Named>();

  constructor(served: ReadonlyMap<string, ServedKind>, custom: ReadonlyMap<string, CustomMethod>) {
    this.#served = served;
    this.#custom = custom;
  }

  standard(method: MethodInfo): { readonly served: ServedKind; readonly verb: StandardVerb } {
    const served = method.standard && this.#served.get(method.standard.kind.kind);
    if (!method.standard || !served) throw this.unimplemented(method);
    return { served, verb: method.standard.verb };
  }

  /** The normalized request for authorization and handlers. */
  normalized(method: MethodInfo, request: JsonObject): JsonObject {
    return normalizedRequest(method, request, this.#scopeOf(method));
  }

  #scopeOf(method: MethodInfo): 'Namespaced' | 'Cluster' | undefined {
    const custom = this.#custom.get(method.id);
    if (!custom) return method.standard?.kind.scope;
    return custom.access.type === 'policy' ? custom.access.scope : undefined;
  }

  /**
   * The access of a normalized request. Undefined if the method needs none, or its handler authorizes the parts of the
   * request; see {@link MethodAccess}.
   * @throws StatusError Unimplemented
   */
  accessOf(method: MethodInfo, request: JsonObject): Access | undefined {
    const custom = this.#custom.get(method.id);
    if (custom) {
      const { access } = custom;
      if (access.type === 'request') return access.required(request);
      if (access.type !== 'policy') return undefined;
      const named = textOf(request, 'namespace');
      const namespace = access.scope === 'Cluster' ? undefined : everywhere(named);
      return { resource: access.resource, verb: access.verb, namespace };
    }
    const { served } = this.standard(method);
    const namespace = requestNamespace(served.kind, request);
    const { resource, verb } = this.named(method);
    return { resource, verb, namespace: namespace && everywhere(namespace) };
  }

  /** The audit record of a call; a call of an unknown path has no method. */
  recorded(
    method: MethodInfo | undefined,
    request: JsonObject,
    code: StatusCode,
  ): readonly RecordedAccess[] {
    if (!method) return [{ resource: '', verb: '', namespace: '', name: '' }];
    const access = this.#custom.get(method.id)?.access;
    if (access?.type === 'request') return access.recorded(request, code);
    const { resource, verb } = this.named(method);
    const done = request.reveal === true ? 'reveal' : verb;
    const name = this.nameIn(method, request);
    return [{ resource, verb: done, namespace: textOf(request, 'namespace'), name }];
  }

  /** The resource and the verb of a method, for rights and records. @throws StatusError Unimplemented */
  named(method: MethodInfo): Named {
    let named = this.#named.get(method);
    if (!named) this.#named.set(method, (named = this.#nameOf(method)));
    return named;
  }

  #nameOf(method: MethodInfo): Named {
    const custom = this.#custom.get(method.id);
    if (custom) {
      const { access } = custom;
      if (access.type !== 'policy') return { resource: '', verb: verbOf(method, access) };
      return { resource: access.resource, verb: access.verb };
    }
    const { served, verb } = this.standard(method);
    const { plural } = served.kind;
    return {
      resource: verb === 'UpdateStatus' ? `${plural}/status` : plural,
      verb: rightVerbs[verb],
    };
  }

  /** The name of the object of a request, if it has one. */
  nameIn(method: MethodInfo, request: JsonObject): string {
    const name = textOf(request, 'name');
    if (name !== '' || !method.standard) return name;
    const body = request[bodyField(method.standard.kind)];
    return isJsonObject(body) ? textOf(body, 'name') : '';
  }

  unimplemented(method: MethodInfo): StatusError {
    return new StatusError({
      code: 'Unimplemented',
      reason: 'Unimplemented',
      message: `${method.id} is not implemented`,
    });
  }
}

/**
 * The verb of a method without an explicit right: `get` if it only reads, otherwise the method's name in lower case.
 */
function verbOf(method: MethodInfo, access: MethodAccess): string {
  if (access.type === 'authenticated' && access.reads) return 'get';
  return (method.id.split('.')[1] ?? '').toLowerCase();
}

/** The namespace of an access: `-` covers every namespace, so it needs a rule for all. */
function everywhere(namespace: string): string {
  return namespace === '-' ? '*' : namespace;
}
