import { type FieldViolation, invalid } from '../base/index.js';
import { valueAt } from './equality.js';
import type { ApiObject } from './object.js';

type Labels = Readonly<Record<string, string>> | undefined;

/** One requirement of a label selector. */
type Requirement =
  | { readonly key: string; readonly operator: 'Exists' | 'DoesNotExist' }
  | { readonly key: string; readonly operator: 'In' | 'NotIn'; readonly values: readonly string[] };

/** A compiled selector, with the text it was compiled from; a function of one's own has none. */
interface Compiled {
  readonly text?: string;
}

/** A compiled label selector. */
export type LabelSelector = ((labels: Labels) => boolean) & Compiled;

const setForm = /^([^\s!=,()]+)\s+(in|notin)\s*\(([^()]*)\)$/;
const equalForm = /^([^\s!=,()]+)\s*(==|=|!=)\s*([^\s!=,()]*)$/;
const existsForm = /^(!?)\s*([^\s!=,()]+)$/;

function parseRequirement(text: string): Requirement | undefined {
  const set = setForm.exec(text);
  if (set?.[1] !== undefined) {
    const values = (set[3] ?? '').split(',').map((v) => v.trim());
    return { key: set[1], operator: set[2] === 'in' ? 'In' : 'NotIn', values };
  }
  const equal = equalForm.exec(text);
  if (equal?.[1] !== undefined) {
    return {
      key: equal[1],
      operator: equal[2] === '!=' ? 'NotIn' : 'In',
      values: [equal[3] ?? ''],
    };
  }
  const exists = existsForm.exec(text);
  if (exists?.[2] === undefined) return undefined;
  return { key: exists[2], operator: exists[1] === '!' ? 'DoesNotExist' : 'Exists' };
}

function holds(requirement: Requirement, labels: Labels): boolean {
  const value = labels?.[requirement.key];
  switch (requirement.operator) {
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'In':
      return value !== undefined && requirement.values.includes(value);
    case 'NotIn':
      return value === undefined || !requirement.values.includes(value);
  }
}

/** Splits at commas outside parentheses. */
function split(text: string): string[] {
  return text.split(/,(?![^(]*\))/).map((part) => part.trim());
}

/**
 * Compiles a selector in Kubernetes' text form: `a=b, c!=d, e in (f,g), h notin (i), j, !k`.
 * NotIn and `!=` match a missing key. The empty text matches everything.
 * @throws StatusError InvalidArgument naming the part that can't be read.
 */
export function parseLabelSelector(text: string): LabelSelector {
  if (text.trim() === '') return withText(() => true, '');
  const requirements: Requirement[] = [];
  const violations: FieldViolation[] = [];
  for (const part of split(text)) {
    const requirement = parseRequirement(part);
    if (requirement) requirements.push(requirement);
    else
      violations.push({
        field: 'labelSelector',
        description: `"${part}" is not a requirement; use key=value, key!=value, "key in (a,b)", "key notin (a,b)", key or !key`,
      });
  }
  if (violations.length > 0) throw invalid(violations);
  return withText((labels: Labels) => requirements.every((r) => holds(r, labels)), text);
}

/** A compiled field selector. */
export type FieldSelector = ((object: ApiObject) => boolean) &
  Compiled & {
    /** The dotted paths that it looks at, where it was compiled from text. */
    readonly paths?: readonly string[];
  };

/** The function as a selector that says what text it stands for. */
export function withText<F extends LabelSelector | FieldSelector>(
  select: F,
  text: string,
): F & { readonly text: string } {
  return Object.assign(select, { text });
}

const fieldForm = /^([^\s!=,()]+)\s*(==|=|!=)\s*([^,()]*)$/;

/**
 * Compiles a field selector in Kubernetes' text form, over dotted paths: `status=Bound,size!=1Gi`.
 * Values compare as text; a missing field equals the empty text. The empty text matches everything.
 * @throws StatusError InvalidArgument naming the part that can't be read.
 */
export function parseFieldSelector(text: string): FieldSelector {
  if (text.trim() === '') return withText(() => true, '');
  const violations: FieldViolation[] = [];
  const paths: string[] = [];
  const tests = split(text).map((part): FieldSelector => {
    const [, path, operator, value = ''] = fieldForm.exec(part) ?? [];
    if (path === undefined) {
      violations.push({
        field: 'fieldSelector',
        description: `"${part}" is not a requirement; use field=value or field!=value`,
      });
      return () => false;
    }
    const wanted = value.trim();
    paths.push(path);
    return (object) => (textAt(object, path) === wanted) === (operator !== '!=');
  });
  if (violations.length > 0) throw invalid(violations);
  const select = (object: ApiObject): boolean => tests.every((test) => test(object));
  return Object.assign(withText(select, text), { paths });
}

function textAt(object: ApiObject, path: string): string {
  const value = valueAt(object, path);
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
