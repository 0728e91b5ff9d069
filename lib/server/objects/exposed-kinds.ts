import { invalid, StatusError } from '../../base/index.js';
import type { MethodInfo, StandardVerb } from '../../rpc/index.js';
import type { ServedKind } from '../api/served-kind.js';

interface Exposed {
  readonly served: ServedKind;
  /** The verbs that are offered; undefined: all. */
  readonly verbs: ReadonlySet<StandardVerb> | undefined;
}

/** Options of exposed kinds. */
export interface ExposedKindsOptions {
  readonly served: ReadonlyMap<string, ServedKind>;
  /** Kinds without a service of their own. */
  readonly records: readonly ServedKind[];
  readonly methods: readonly MethodInfo[];
  /** Ids of the methods with their own handlers. */
  readonly customIds: ReadonlySet<string>;
}

/**
 * The operations of ObjectService by kind: those of the standard methods of the kind's own service, or all for a kind
 * without a service. A verb that the service lacks, or handles by itself, is refused, with one
 * exception: finalizers can be written although the service has no Update.
 */
export class ExposedKinds {
  readonly #kinds = new Map<string, Exposed>();

  constructor({ served, records, methods, customIds }: ExposedKindsOptions) {
    for (const kind of records) this.#kinds.set(kind.kind.kind, { served: kind, verbs: undefined });
    for (const [name, kind] of served) {
      const verbs = methods.flatMap(({ id, standard }) =>
        standard?.kind.kind === name && !customIds.has(id) ? [standard.verb] : [],
      );
      this.#kinds.set(name, { served: kind, verbs: new Set(verbs) });
    }
  }

  /** The served kind, regardless of its verbs; undefined for an unknown one. */
  find(kind: string): ServedKind | undefined {
    return this.#kinds.get(kind)?.served;
  }

  /**
   * Whether ObjectService offers this verb for the kind: the kind has no service of its own, or its service has the
   * standard method.
   */
  offers(kind: string, verb: StandardVerb): boolean {
    const exposed = this.#kinds.get(kind);
    return exposed !== undefined && exposed.verbs?.has(verb) !== false;
  }

  /**
   * Returns the kind for a verb.
   * @param field the field that the error names
   * @throws StatusError InvalidArgument for a kind that is not served, Unimplemented for a verb that its service does
   * not have
   */
  require(kind: string, verb: StandardVerb, field = 'kind'): ServedKind {
    const exposed = this.#kinds.get(kind);
    if (!exposed) {
      const known = [...this.#kinds.keys()].sort().join(', ');
      const description = `${JSON.stringify(kind)} is not a kind; use one of ${known}`;
      throw invalid([{ field, description }]);
    }
    if (exposed.verbs?.has(verb) === false)
      throw new StatusError({
        code: 'Unimplemented',
        reason: 'Unimplemented',
        message: `${field}: ${verb} is not implemented for kind ${kind} in the object service; see the methods of the kind's own service`,
      });
    return exposed.served;
  }
}
