import { type AnyKind, type ApiObject, fieldsOf, type ObjectMeta } from '../../object/index.js';

/** The metadata that a commit can check: it changes only with the generation, or never. */
export type SeenMeta = Pick<ObjectMeta, 'uid' | 'generation' | 'createdAt' | 'deletionRequestedAt'>;

/** Status fields that a rule did not declare; none if the type of the kind does not distinguish status fields. */
type Hidden<T, S extends string, P extends string> = 'name' extends S
  ? never
  : Exclude<S & keyof T, P>;

/**
 * An object as a rule sees it: the fields that clients write, and the status fields that the rule declared. The
 * commit checks all of them.
 *
 * @typeParam S names of the kind's status fields
 * @typeParam P the declared ones
 */
export type Seen<T extends ApiObject, S extends string = string, P extends string = never> = Omit<
  T,
  Hidden<T, S, P> | 'metadata'
> & { readonly metadata: SeenMeta };

/** The views without status fields: objects of the store never change, and each write looks up the same namespace. */
const views = new WeakMap<AnyKind, WeakMap<ApiObject, Seen<ApiObject>>>();

function viewsOf(kind: AnyKind): WeakMap<ApiObject, Seen<ApiObject>> {
  let known = views.get(kind);
  if (!known) views.set(kind, (known = new WeakMap()));
  return known;
}

/**
 * The view of `object` with the declared status fields. Reading another status field throws a TypeError with the
 * remedy.
 */
export function seenObject(
  kind: AnyKind,
  object: ApiObject,
  named: readonly string[],
): Seen<ApiObject> {
  if (named.length > 0 || !Object.isFrozen(object)) return viewOf(kind, object, named);
  const known = viewsOf(kind);
  let view = known.get(object);
  if (!view) known.set(object, (view = viewOf(kind, object, named)));
  return view;
}

function viewOf(kind: AnyKind, object: ApiObject, named: readonly string[]): Seen<ApiObject> {
  const shown = new Set(named);
  const view: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(fieldsOf(object)))
    if (!kind.statusFields.includes(field) || shown.has(field)) view[field] = value;
  for (const field of kind.statusFields) {
    if (shown.has(field)) continue;
    Object.defineProperty(view, field, {
      enumerable: false,
      get: () => {
        throw new TypeError(
          `${kind.kind}.${field} is a status field that the rule did not declare: look it up with {status: ['${field}']}, so that the commit checks it`,
        );
      },
    });
  }
  const { uid, generation, createdAt, deletionRequestedAt } = object.metadata;
  const metadata: SeenMeta = {
    uid,
    generation,
    createdAt,
    ...(deletionRequestedAt === undefined ? {} : { deletionRequestedAt }),
  };
  view.metadata = metadata;
  return Object.freeze(view) as unknown as Seen<ApiObject>;
}
