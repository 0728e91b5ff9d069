import { type FieldViolation, invalid, limits } from '../base/index.js';
import { valueAt } from './fields/equality.js';
import type { ApiObject } from './kinds/object.js';

type Labels = Readonly<Record<string, string>> | undefined;

/** One requirement of a label selector. */
type Requirement =
  | { readonly key: string; readonly operator: 'Exists' | 'DoesNotExist' }
  | {
      readonly key: string;
      readonly operator: 'In' | 'NotIn';
      readonly values: ReadonlySet<string>;
    };

/** A compiled selector with its source text; a custom function has no text. */
interface Compiled {
  readonly text?: string;
}

/** A compiled label selector. */
export type LabelSelector = ((labels: Labels) => boolean) & Compiled;

/** The first position from `at` that is not white space. */
function afterSpace(text: string, at: number): number {
  let end = at;
  while (end < text.length && (text[end] ?? '').trim() === '') end += 1;
  return end;
}

/** A character that ends a key and a value. */
const delimiters = new Set('!=,()');

/** The first position from `at` that is not part of a key or value. */
function afterWord(text: string, at: number): number {
  let end = at;
  for (; end < text.length; end += 1) {
    const char = text[end] ?? '';
    if (delimiters.has(char) || char.trim() === '') break;
  }
  return end;
}

const operators = ['==', '=', '!='] as const;

/** Parses `in (a,b)` or `notin (a,b)` from `at` to the end of the text; undefined for any other text. */
function setRequirement(text: string, key: string, at: number): Requirement | undefined {
  const end = afterWord(text, at);
  const word = text.slice(at, end);
  const open = afterSpace(text, end);
  if ((word !== 'in' && word !== 'notin') || text[open] !== '(') return undefined;
  const close = text.indexOf(')', open);
  const inner = text.slice(open + 1, close);
  if (close !== text.length - 1 || inner.includes('(')) return undefined;
  const values = new Set(inner.split(',').map((v) => v.trim()));
  return { key, operator: word === 'in' ? 'In' : 'NotIn', values };
}

/** Parses one requirement in one pass: each character is read a bounded number of times. Undefined if it is invalid. */
function parseRequirement(text: string): Requirement | undefined {
  const negated = text.startsWith('!');
  const from = negated ? afterSpace(text, 1) : 0;
  const keyEnd = afterWord(text, from);
  const key = text.slice(from, keyEnd);
  if (key === '') return undefined;
  const at = afterSpace(text, keyEnd);
  if (at === text.length) return { key, operator: negated ? 'DoesNotExist' : 'Exists' };
  if (negated) return undefined;
  const sign = operators.find((operator) => text.startsWith(operator, at));
  if (sign === undefined) return at > keyEnd ? setRequirement(text, key, at) : undefined;
  const valueAt = afterSpace(text, at + sign.length);
  if (afterWord(text, valueAt) !== text.length) return undefined;
  const values = new Set([text.slice(valueAt)]);
  return { key, operator: sign === '!=' ? 'NotIn' : 'In', values };
}

function holds(requirement: Requirement, labels: Labels): boolean {
  const value = labels?.[requirement.key];
  switch (requirement.operator) {
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'In':
      return value !== undefined && requirement.values.has(value);
    case 'NotIn':
      return value === undefined || !requirement.values.has(value);
  }
}

/** Splits at commas outside of parentheses. */
function split(text: string): string[] {
  const parts: string[] = [];
  let end = text.length;
  let inside = false;
  for (let at = text.length - 1; at >= 0; at -= 1) {
    const char = text[at];
    if (char === ')') inside = true;
    else if (char === '(') inside = false;
    else if (char === ',' && !inside) {
      parts.push(text.slice(at + 1, end).trim());
      end = at;
    }
  }
  parts.push(text.slice(0, end).trim());
  return parts.reverse();
}

/**
 * The requirements of a selector as strings.
 * @throws StatusError InvalidArgument for a selector that is too long: each object is matched against all of it.
 */
function requirementsOf(field: string, text: string): readonly string[] {
  const { selectorCharactersMax, selectorRequirementsMax } = limits;
  if (text.length > selectorCharactersMax)
    throw invalid([
      {
        field,
        description: `has ${text.length} characters, and at most ${selectorCharactersMax} are allowed; select by fewer values`,
      },
    ]);
  const parts = split(text);
  if (parts.length > selectorRequirementsMax)
    throw invalid([
      {
        field,
        description: `has ${parts.length} requirements, and at most ${selectorRequirementsMax} are allowed; write values of one key as "key in (a,b)"`,
      },
    ]);
  return parts;
}

/** Quotes the first 100 characters of a requirement for an error. */
function quoted(part: string): string {
  return part.length > 100 ? `"${part.slice(0, 100)}..."` : `"${part}"`;
}

/**
 * Compiles a selector in Kubernetes' text form: `a=b, c!=d, e in (f,g), h notin (i), j, !k`. NotIn and `!=` match a
 * missing key. The empty selector matches everything.
 * @throws StatusError InvalidArgument that names the invalid part, or the limit that the selector exceeds.
 */
export function parseLabelSelector(text: string): LabelSelector {
  if (text.trim() === '') return withText(() => true, '');
  const requirements: Requirement[] = [];
  const violations: FieldViolation[] = [];
  for (const part of requirementsOf('labelSelector', text)) {
    const requirement = parseRequirement(part);
    if (requirement) requirements.push(requirement);
    else
      violations.push({
        field: 'labelSelector',
        description: `${quoted(part)} is not a requirement; use key=value, key!=value, "key in (a,b)", "key notin (a,b)", key or !key`,
      });
  }
  if (violations.length > 0) throw invalid(violations);
  return withText((labels: Labels) => requirements.every((r) => holds(r, labels)), text);
}

/** A compiled field selector. */
export type FieldSelector = ((object: ApiObject) => boolean) &
  Compiled & {
    /** The dotted paths that it reads, if it was compiled from text. */
    readonly paths?: readonly string[];
  };

/** Attaches a text to a selector function. */
export function withText<F extends LabelSelector | FieldSelector>(
  select: F,
  text: string,
): F & { readonly text: string } {
  return Object.assign(select, { text });
}

interface FieldRequirement {
  readonly path: string;
  readonly equal: boolean;
  readonly value: string;
}

function parseFieldRequirement(text: string): FieldRequirement | undefined {
  const pathEnd = afterWord(text, 0);
  const at = afterSpace(text, pathEnd);
  const sign = operators.find((operator) => text.startsWith(operator, at));
  if (pathEnd === 0 || sign === undefined) return undefined;
  const value = text.slice(at + sign.length).trim();
  if (value.includes(',') || value.includes('(') || value.includes(')')) return undefined;
  return { path: text.slice(0, pathEnd), equal: sign !== '!=', value };
}

/**
 * Compiles a field selector in Kubernetes' text form, over dotted paths: `status=Bound,size!=1Gi`. Values compare as
 * text, lists and objects as JSON; a missing field and null equal the empty string. The empty selector matches
 * everything.
 * @throws StatusError InvalidArgument that names the invalid part, or the limit that the selector exceeds.
 */
export function parseFieldSelector(text: string): FieldSelector {
  if (text.trim() === '') return withText(() => true, '');
  const violations: FieldViolation[] = [];
  const byPath = new Map<string, FieldRequirement[]>();
  for (const part of requirementsOf('fieldSelector', text)) {
    const requirement = parseFieldRequirement(part);
    if (requirement)
      byPath.set(requirement.path, [...(byPath.get(requirement.path) ?? []), requirement]);
    else
      violations.push({
        field: 'fieldSelector',
        description: `${quoted(part)} is not a requirement; use field=value or field!=value`,
      });
  }
  if (violations.length > 0) throw invalid(violations);
  const paths = [...byPath.keys()];
  const tests = [...byPath];
  // The text of a value is computed once for all requirements.
  const select = (object: ApiObject): boolean =>
    tests.every(([path, requirements]) => {
      const found = textAt(object, path);
      return requirements.every(({ value, equal }) => (value === found) === equal);
    });
  return Object.assign(withText(select, text), { paths });
}

/** The value at a path as text; undefined if no requirement can contain this text. */
function textAt(object: ApiObject, path: string): string | undefined {
  const value = valueAt(object, path);
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  return isUnselectable(value) ? undefined : JSON.stringify(value);
}

/**
 * True for a value that no requirement can name, because its JSON has a comma or is longer than a selector. The JSON is
 * not built: a map may have a megabyte, and every watcher evaluates it.
 */
function isUnselectable(value: unknown): boolean {
  let inner = value;
  while (typeof inner === 'object' && inner !== null) {
    const all: readonly unknown[] = Array.isArray(inner) ? inner : Object.values(inner);
    // JSON omits undefined values.
    const entries = Array.isArray(inner) ? all : all.filter((entry) => entry !== undefined);
    if (entries.length > 1) return true;
    [inner] = entries;
  }
  return typeof inner === 'string' && inner.length > limits.selectorCharactersMax;
}
