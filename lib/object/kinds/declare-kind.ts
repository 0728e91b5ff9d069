import { limits } from '../../base/index.js';
import { completion } from '../fields/completion.js';
import { checkFields, immutablePaths } from '../fields/declaration-checks.js';
import type { Fields, InputsOf, Simplify, ValuesOf } from '../fields/field.js';
import { freezeKind } from './define-kind.js';
import { checkKindName, reservedFields } from './kind-checks.js';
import type { Column, IndexFunction, Kind, KindDeclaration } from './kind.js';
import type { ApiObject, InScope, Scope } from './object.js';
import type { StateMachine } from './state-machine.js';

/** The object type of a declaration. */
export type DeclaredObject<F extends Fields, St extends Fields, N extends Scope> = ApiObject &
  InScope<N> &
  Simplify<ValuesOf<F> & ValuesOf<St>>;

/** The input of a creation of a declared kind, without metadata. */
export type DeclaredInput<F extends Fields, St extends Fields> = Omit<ApiObject, 'metadata'> &
  Simplify<InputsOf<F> & Partial<InputsOf<St>>>;

/** The declaration of a kind; see {@link declareKind}. */
export interface KindDeclarationInit<
  F extends Fields,
  St extends Fields,
  I extends string,
  N extends Scope,
> {
  /** Singular, PascalCase. */
  readonly kind: string;
  /** Lower-case plural: path segment, RBAC resource and CLI name. */
  readonly plural: string;
  /** Other names that the CLI accepts. */
  readonly shortNames?: readonly string[];
  readonly scope: N;
  /** Fields that clients write. */
  readonly fields: F;
  /** Fields that only controllers write, through the status path. */
  readonly status?: St;
  /** Status of a new object, if it differs from the defaults of the fields. */
  readonly initialStatus?: Partial<ValuesOf<St>>;
  /** See `KindInit.indexes`. */
  readonly indexes?: Readonly<Record<I, IndexFunction<DeclaredObject<F, St, N>>>>;
  /** The allowed transitions of its state; the commit refuses all others. */
  readonly states?: StateMachine;
  readonly columns?: readonly Column<DeclaredObject<F, St, N>>[];
  /** See `KindInit.takenWhenFull`. */
  readonly takenWhenFull?: boolean;
  /** See `KindInit.rarelyWritten`. */
  readonly rarelyWritten?: boolean;
}

/** A kind whose fields are declared. */
export interface DeclaredKind<
  T extends ApiObject = ApiObject,
  S extends string = string,
  I extends string = string,
  N extends Scope = Scope,
  C = unknown,
> extends Kind<T, S, I, N, C> {
  readonly declaration: KindDeclaration;
}

/** Checks that all fields were created by the field functions. @throws TypeError that names the first other value */
function requireFields(kind: string, given: Readonly<Record<'fields' | 'status', unknown>>): void {
  for (const [part, fields] of Object.entries(given)) {
    if (typeof fields !== 'object' || fields === null)
      throw new TypeError(
        `${kind}.${part}: ${String(fields)} can't be used; give an object of fields`,
      );
    for (const [name, field] of Object.entries(fields))
      if (typeof (field as { shape?: unknown } | undefined)?.shape !== 'object')
        throw new TypeError(
          `${kind}.${part}.${name} is not a field; create it with string(), int32(), list() or another field function`,
        );
  }
}

/**
 * Checks that the field of the states is text, or an enumeration that has them.
 * @throws TypeError that names the other type of the field, or the first state that the enumeration does not have
 */
function requireStates(kind: string, status: Fields, states: StateMachine | undefined): void {
  const shape = states && status[states.field]?.shape;
  if (!states || !shape) return;
  if (shape.type !== 'string' && shape.type !== 'enum')
    throw new TypeError(
      `${kind}.states.field: ${states.field} is a field of type ${shape.type}; use an enumeration of the states, or text`,
    );
  const values = shape.type === 'enum' ? shape.values : undefined;
  const strange = Object.keys(states.transitions).find(
    (state) => values?.includes(state) === false,
  );
  if (strange !== undefined)
    throw new TypeError(
      `${kind}.states.transitions: ${strange} is not a value of ${states.field}; its enumeration has ${values?.join(', ')}`,
    );
}

/**
 * Declares a kind and its fields. The object type, the creation type, defaults, the JSON schema, the protobuf
 * messages and the OpenAPI document are derived from the declaration.
 *
 * A field that is not optional is present in written objects: each write fills in defaults, zero values, empty lists
 * and empty maps.
 *
 * @throws TypeError that names the field, for an invalid declaration: a name or number that is used twice or not
 * allowed, a range without 0 on a field that is filled with 0, a pattern that could be slow, nesting beyond
 * `limits.declaredDepthMax`, more fields than `limits.declaredFieldsMax`.
 *
 * @example
 * const lamps = declareKind({
 *   kind: 'Lamp', plural: 'lamps', scope: 'Namespaced',
 *   fields: { on: boolean(), room: string({ required: true, format: 'dns-label' }), tags: list(string()) },
 *   status: { lit: boolean() },
 *   indexes: { tag: (lamp) => lamp.tags },
 * });
 * type Lamp = ObjectOf<typeof lamps>;
 */
export function declareKind<
  F extends Fields,
  const N extends Scope,
  St extends Fields = Record<never, never>,
  const I extends string = never,
>(
  init: KindDeclarationInit<F, St, I, N>,
): DeclaredKind<DeclaredObject<F, St, N>, keyof St & string, I, N, DeclaredInput<F, St>> {
  checkKindName('declareKind', init);
  const { fields, status = {} as St, initialStatus, ...rest } = init;
  requireFields(init.kind, { fields, status });
  const taken = [...Object.keys(fields), ...Object.keys(status)];
  for (const name of taken) {
    if (reservedFields.includes(name))
      throw new TypeError(`${init.kind}.${name}: every object has a ${name}; choose another name`);
    if (taken.indexOf(name) !== taken.lastIndexOf(name))
      throw new TypeError(`${init.kind}.${name} is declared in fields and in status; keep one`);
  }
  checkFields(init.kind, { ...fields, ...status }, limits);
  requireStates(init.kind, status, init.states);
  const declaration = Object.freeze({ fields, status, ...completion(fields, status) });
  const kind = freezeKind<
    DeclaredObject<F, St, N>,
    string & keyof DeclaredObject<F, St, N>,
    I,
    N,
    DeclaredInput<F, St>
  >(
    {
      ...rest,
      statusFields: Object.keys(status) as (string & keyof DeclaredObject<F, St, N>)[],
      immutableFields: immutablePaths(fields),
      initialStatus: { ...initialStatus },
    },
    declaration,
  );
  return kind as never;
}
