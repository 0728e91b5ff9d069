import type { AnyKind } from '../../object/index.js';
import { bodyField, type JsonObject, type MethodInfo, type StandardVerb } from '../../rpc/index.js';
import type { ResourceSelection } from './resource-options.js';

/** Represents all namespaces in requests. */
const everywhere = '-';

/** The methods of a kind, and the parts of their requests. */
export class ResourceRequests {
  readonly #kind: AnyKind;
  readonly #methods: ReadonlyMap<StandardVerb, string>;

  /** @throws TypeError for a kind that the API does not have */
  constructor(kind: AnyKind, methods: readonly MethodInfo[]) {
    this.#kind = kind;
    this.#methods = new Map(
      methods.flatMap(({ id, standard }) =>
        standard?.kind.kind === kind.kind ? [[standard.verb, id] as const] : [],
      ),
    );
    if (!this.#methods.has('Get'))
      throw new TypeError(`the API has no methods for kind ${kind.kind}`);
  }

  /**
   * The method of a verb.
   * @throws TypeError if the API does not have it
   */
  id(verb: StandardVerb): string {
    const id = this.#methods.get(verb);
    if (id === undefined) throw new TypeError(`the API has no ${verb} for ${this.#kind.kind}`);
    return id;
  }

  /** The form of an object in a request. */
  body(object: object): JsonObject {
    return { [bodyField(this.#kind)]: object };
  }

  /** The fields of a request that select objects. */
  selected({ namespace, labelSelector, fieldSelector }: ResourceSelection): JsonObject {
    return {
      ...(this.#kind.scope === 'Cluster' ? {} : { namespace: namespace ?? everywhere }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    };
  }
}
