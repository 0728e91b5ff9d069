import { invalid } from 'kedge/objects';
import { isJsonObject } from 'kedge/rpc';
import {
  type FilterTest,
  JsonPathParser,
  type Path,
  type Segment,
  type Template,
} from './jsonpath-parser.js';

export type { Path, Segment, Template };

/** Maximum characters and items of the output, which nested ranges multiply. */
const outputMax = 16 * 1024 * 1024;
const itemsMax = 1_000_000;

/**
 * Reads a JSONPath template: text, and in braces paths, literals in quotes, `range PATH` and `end`. A path has fields
 * (`.name`, `['name']`), items (`[0]`, `[-1]`, `[1:3]`), `[*]`, `.*` and filters (`[?(@.status=="Bound")]`). Recursive
 * descent and expressions are not supported.
 * @throws StatusError InvalidArgument with the place
 */
export function parseJsonPath(text: string): Template {
  return new JsonPathParser(text).template();
}

/** Returns the output of a template for a document. @throws StatusError InvalidArgument if it is too large */
export function evaluateJsonPath(template: Template, document: unknown): string {
  const out: string[] = [];
  let length = 0;
  let items = 0;
  const tooMuch = (what: string): Error =>
    invalid([{ field: '--output', description: `the JSONPath template ${what}; print less` }]);
  const write = (text: string): void => {
    length += text.length;
    if (length > outputMax) throw tooMuch(`prints more than ${outputMax} characters`);
    out.push(text);
  };
  const run = (parts: Template, current: unknown): void => {
    for (const part of parts)
      switch (part.type) {
        case 'text':
          write(part.text);
          break;
        case 'path':
          write(valuesAt(part.path, document, current).map(textOf).join(' '));
          break;
        case 'range':
          for (const item of valuesAt(part.path, document, current)) {
            items += 1;
            if (items > itemsMax) throw tooMuch(`iterates over more than ${itemsMax} items`);
            run(part.body, item);
          }
          break;
      }
  };
  run(template, document);
  return out.join('');
}

/** The values that a path selects, in order. */
function valuesAt({ from, segments }: Path, root: unknown, current: unknown): readonly unknown[] {
  let values: readonly unknown[] = [from === 'root' ? root : current];
  for (const segment of segments) values = values.flatMap((value) => step(segment, value, root));
  return values;
}

function step(segment: Segment, value: unknown, root: unknown): readonly unknown[] {
  switch (segment.type) {
    case 'field':
      return isJsonObject(value) && Object.hasOwn(value, segment.name) ? [value[segment.name]] : [];
    case 'index': {
      const item: unknown = Array.isArray(value) ? value.at(segment.index) : undefined;
      return item === undefined ? [] : [item];
    }
    case 'slice':
      return Array.isArray(value) ? value.slice(segment.from, segment.to) : [];
    case 'all':
      if (Array.isArray(value)) return value;
      return isJsonObject(value) ? Object.values(value) : [];
    case 'filter':
      return itemsOf(value).filter((item) => passes(segment, item, root));
  }
}

function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function passes(
  { path, test }: Extract<Segment, { type: 'filter' }>,
  item: unknown,
  root: unknown,
): boolean {
  const values = valuesAt(path, root, item);
  if (!test) return values.length > 0;
  return values.some((value) => compares(value, test));
}

function compares(value: unknown, { operator, value: other }: FilterTest): boolean {
  if (operator === '==') return value === other;
  if (operator === '!=') return value !== other;
  const ordered =
    (typeof value === 'number' && typeof other === 'number') ||
    (typeof value === 'string' && typeof other === 'string');
  if (!ordered) return false;
  const [a, b] = [value as string, other as string];
  if (operator === '<') return a < b;
  if (operator === '<=') return a <= b;
  return operator === '>' ? a > b : a >= b;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
