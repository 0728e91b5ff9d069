import type { KindInit } from './kind.js';
import type { ApiObject } from './object.js';

/** The unchecked input of a kind, also from programs without types. */
type Given = Readonly<Record<string, unknown>>;

const kindName = /^[A-Z][A-Za-z0-9]{0,62}$/;
const word = /^[a-z][a-z0-9-]{0,62}$/;
const fieldName = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Fields that the library defines for objects; only those of namespaced kinds have a namespace. */
export const reservedFields: readonly string[] = ['name', 'namespace', 'labels', 'metadata'];
const shownMax = 60;

/** A value as text for a message: short, and only its type if it is large. */
function shown(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  const text = typeof value === 'object' ? JSON.stringify(value) : undefined;
  const plain = text ?? (typeof value === 'string' ? JSON.stringify(value) : String(value));
  return plain.length > shownMax ? `${plain.slice(0, shownMax)}...` : plain;
}

/** The checks of one kind; each throws a TypeError that names the property, the value and the remedy. */
class KindChecks {
  readonly #kind: string;
  readonly #given: Given;

  constructor(kind: string, given: Given) {
    this.#kind = kind;
    this.#given = given;
  }

  fail(property: string, value: unknown, remedy: string): never {
    throw new TypeError(`${this.#kind}.${property}: ${shown(value)} can't be used; ${remedy}`);
  }

  /** A list of distinct strings; an absent list is empty. */
  #texts(property: string, of: string): readonly string[] {
    const value = this.#given[property] ?? [];
    if (!Array.isArray(value)) return this.fail(property, value, `give a list of ${of}`);
    const texts = value as readonly unknown[];
    for (const text of texts) {
      if (typeof text !== 'string') this.fail(property, text, `give a list of ${of}, as strings`);
      if (texts.indexOf(text) !== texts.lastIndexOf(text))
        this.fail(property, text, 'it is listed twice; keep one');
    }
    return texts as readonly string[];
  }

  names(): void {
    const { plural, scope } = this.#given;
    const way = 'in lower case, starting with a letter, of at most 63 letters, digits and -';
    if (typeof plural !== 'string' || !word.test(plural))
      this.fail('plural', plural, `give the plural ${way}, such as "${this.#kind.toLowerCase()}s"`);
    if (scope !== 'Namespaced' && scope !== 'Cluster')
      this.fail('scope', scope, 'give "Namespaced" or "Cluster"');
    for (const name of this.#texts('shortNames', 'names')) {
      if (!word.test(name)) this.fail('shortNames', name, `give names ${way}`);
      if (name === plural) this.fail('shortNames', name, 'it is the same as the plural; omit it');
    }
  }

  fields(): void {
    if (this.#given['statusFields'] === undefined)
      this.fail('statusFields', undefined, 'give the names of the status fields, or [] for none');
    const status = this.#texts('statusFields', 'field names');
    for (const name of status) {
      if (!fieldName.test(name) || name in Object.prototype)
        this.fail('statusFields', name, 'give names of top-level fields of letters and digits');
      if (reservedFields.includes(name))
        this.fail('statusFields', name, `every object has a ${name}; choose another name`);
    }
    for (const path of this.#texts('immutableFields', 'field names')) {
      const [top = '', ...rest] = path.split('.');
      if (![top, ...rest].every((part) => fieldName.test(part)))
        this.fail('immutableFields', path, 'give names of fields, with dots into nested objects');
      if (status.includes(top))
        this.fail('immutableFields', path, `${top} is a status field, and status fields change`);
    }
    this.#initialStatus(status);
    this.#states(status);
  }

  #record(property: string, of: string): Given {
    const value = this.#given[property] ?? {};
    if (typeof value !== 'object' || Array.isArray(value))
      return this.fail(property, value, `give an object of ${of}`);
    return value as Given;
  }

  #initialStatus(status: readonly string[]): void {
    for (const name of Object.keys(this.#record('initialStatus', 'status fields')))
      if (!status.includes(name))
        this.fail('initialStatus', name, 'it is not a status field; list it in statusFields');
  }

  #states(status: readonly string[]): void {
    const { states } = this.#given;
    if (states === undefined) return;
    if (typeof states !== 'object' || states === null)
      return this.fail('states', states, 'give what stateMachine returns');
    const { field, initial, transitions } = states as Given;
    if (typeof field !== 'string' || !status.includes(field))
      this.fail('states.field', field, 'it is not a status field; list it in statusFields');
    if (typeof transitions !== 'object' || transitions === null)
      return this.fail('states.transitions', transitions, 'give the transitions of each state');
    const moves = new Map(Object.entries(transitions as Given));
    if (typeof initial !== 'string' || !moves.has(initial))
      this.fail('states.initial', initial, `give one of ${[...moves.keys()].join(', ')}`);
    for (const [from, targets] of moves) {
      if (!Array.isArray(targets))
        this.fail(`states.transitions.${from}`, targets, 'give a list of states');
      for (const to of targets as readonly unknown[])
        if (typeof to !== 'string' || !moves.has(to))
          this.fail(`states.transitions.${from}`, to, 'it is not a state; give its transitions');
    }
    this.#removable((states as Given)['removable'], moves);
    const begins = this.#record('initialStatus', 'status fields')[field];
    if (begins !== undefined && begins !== initial)
      this.fail(
        `initialStatus.${field}`,
        begins,
        `states.initial already sets ${shown(initial)}; omit it here`,
      );
  }

  #removable(removable: unknown, moves: ReadonlyMap<string, unknown>): void {
    if (removable === undefined) return;
    if (!Array.isArray(removable) || removable.length === 0)
      return this.fail('states.removable', removable, 'give a list of states, or omit it');
    for (const state of removable as readonly unknown[])
      if (typeof state !== 'string' || !moves.has(state))
        this.fail('states.removable', state, `give some of ${[...moves.keys()].join(', ')}`);
  }

  extras(): void {
    for (const [name, index] of Object.entries(this.#record('indexes', 'functions')))
      if (typeof index !== 'function')
        this.fail(
          `indexes.${name}`,
          index,
          'give a function of the object that returns its values',
        );
    const columns = this.#given['columns'] ?? [];
    if (!Array.isArray(columns)) this.fail('columns', columns, 'give a list of columns');
    for (const [at, column] of (columns as readonly unknown[]).entries()) {
      const { header, value } = (column ?? {}) as Given;
      if (typeof header !== 'string' || header === '')
        this.fail(`columns[${at}].header`, header, 'give its title');
      if (typeof value !== 'function')
        this.fail(`columns[${at}].value`, value, 'give a function of the object');
    }
    for (const property of ['takenWhenFull', 'rarelyWritten', 'namesHoldKeys']) {
      const value = this.#given[property];
      if (value !== undefined && typeof value !== 'boolean')
        this.fail(property, value, 'give true or false');
    }
  }
}

/**
 * Checks the name of a kind.
 * @param call name of the called function, for the message
 * @throws TypeError for an invalid name
 */
export function checkKindName(call: string, given: unknown): void {
  if (typeof given !== 'object' || given === null)
    throw new TypeError(`${call}: ${shown(given)} can't be used; give an object that describes it`);
  const { kind } = given as Given;
  if (typeof kind !== 'string' || !kindName.test(kind))
    throw new TypeError(
      `${call}: kind: ${shown(kind)} can't be used; give the singular in PascalCase, of at most 63 letters and digits, such as "Lamp"`,
    );
}

/** Checks the properties of a kind. @throws TypeError that names the property, its value and the remedy */
export function checkKind<T extends ApiObject>(init: KindInit<T>): void {
  checkKindName('defineKind', init);
  const checks = new KindChecks(init.kind, init as unknown as Given);
  checks.names();
  checks.fields();
  checks.extras();
}
