import { invalid, messageOf, type StatusError } from 'kedge/objects';
import { isJsonObject, type JsonObject } from 'kedge/rpc';
import { allKinds } from '@kedge/controllers/kinds';
import {
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
} from 'yaml';
import { didYouMean } from '../../near-miss.js';
import { kindSpelled } from '../connection/api.js';
import { tooDeep } from './yaml-depth.js';

/** An object of a cast file, with the lines of its fields. */
export interface CastItem {
  readonly kind: string;
  readonly object: JsonObject;
  /** `file:line` of a dotted field path. */
  readonly locate: (field: string) => string;
}

/** The kinds by the key of the short form: `service:`, for example, contains one service or a list of services. */
const keyed: ReadonlyMap<string, string> = new Map(
  allKinds.map((kind) => [kind.kind.charAt(0).toLowerCase() + kind.kind.slice(1), kind.kind]),
);

function pathOf(field: string): (string | number)[] {
  return field
    .split(/[.[\]]/)
    .filter((part) => part !== '')
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

function locator(file: string, lines: LineCounter, root: Node) {
  return (field: string): string => {
    let at: Node = root;
    for (const part of pathOf(field)) {
      const next: unknown = isMap(at) || isSeq(at) ? at.get(part, true) : undefined;
      if (!isNode(next)) break;
      at = next;
    }
    const offset = at.range?.[0] ?? 0;
    return `${file}:${lines.linePos(offset).line}`;
  };
}

function refuse(where: string, description: string): StatusError {
  return invalid([{ field: where, description }]);
}

/**
 * Returns the items of a list as printed by `kedge get -o yaml`. The kind of each item is that of the list, because
 * items may have a field `kind`.
 */
function listItems(given: {
  readonly file: string;
  readonly lines: LineCounter;
  readonly root: Node;
  readonly kind: string;
  readonly list: unknown;
}): CastItem[] {
  const { file, lines, root, kind, list } = given;
  const at = locator(file, lines, root);
  if (!Array.isArray(list)) throw refuse(at('items'), 'items must be a list of objects');
  return list.map((object: unknown, index): CastItem => {
    if (typeof object !== 'object' || object === null || Array.isArray(object))
      throw refuse(at(`items[${index}]`), 'must be an object');
    const { kind: own, ...rest } = object as Record<string, unknown>;
    const item = (own === kind ? rest : object) as JsonObject;
    return { kind, object: item, locate: (field) => at(`items[${index}].${field}`) };
  });
}

/**
 * Returns the items of a list of several kinds as printed by `kedge get`: each item has its kind, or is below the name
 * of its kind.
 * @throws StatusError InvalidArgument
 */
function mixedItems(at: (field: string) => string, list: unknown): CastItem[] {
  if (!Array.isArray(list)) throw refuse(at('items'), 'items must be a list of objects');
  return list.map((item: unknown, index): CastItem => {
    const path = `items[${index}]`;
    if (!isJsonObject(item)) throw refuse(at(path), 'must be an object');
    const { kind, ...object } = item;
    if (typeof kind === 'string' && kindSpelled(kind))
      return { kind, object, locate: (field) => at(`${path}.${field}`) };
    const [[key = '', inner] = []] = Object.entries(item);
    const own = keyed.get(key);
    if (own === undefined || !isJsonObject(inner))
      throw refuse(at(path), 'must have a kind, such as kind: Volume');
    return { kind: own, object: inner, locate: (field) => at(`${path}.${key}.${field}`) };
  });
}

/** @throws StatusError InvalidArgument for an alias without its anchor, or with too many expansions */
function contentOf(document: Document, at: (field: string) => string): Record<string, unknown> {
  try {
    return document.toJS() as Record<string, unknown>;
  } catch (error) {
    throw refuse(at(''), `${messageOf(error)}; write the value itself instead of the alias`);
  }
}

function items(file: string, lines: LineCounter, document: Document): CastItem[] {
  const root = document.contents;
  if (root === null || (isScalar(root) && root.value === null)) return [];
  const at = locator(file, lines, root);
  if (!isMap(root)) throw refuse(at(''), 'a document must be an object');
  const content = contentOf(document, at);
  if (typeof content.kind === 'string') {
    if (content.kind === 'List') return mixedItems(at, content.items);
    const listed = /^(.+)List$/.exec(content.kind)?.[1];
    if (listed !== undefined && kindSpelled(listed))
      return listItems({ file, lines, root, kind: listed, list: content.items });
    const { kind, ...object } = content;
    const known = allKinds.map((k) => k.kind);
    if (!kindSpelled(String(kind))) {
      const meant = didYouMean(String(kind), known) || `; use one of ${known.join(', ')}`;
      throw refuse(at('kind'), `${JSON.stringify(kind)} is not a kind${meant}`);
    }
    return [{ kind: String(kind), object, locate: at }];
  }
  return Object.entries(content).flatMap(([key, value]) => {
    const kind = keyed.get(key);
    if (kind === undefined)
      throw refuse(
        at(key),
        `${JSON.stringify(key)} is not expected here${didYouMean(key, ['kind', ...keyed.keys()]) || `; use kind: or one of ${[...keyed.keys()].join(', ')}`}`,
      );
    const node: unknown = root.get(key, true);
    const list = Array.isArray(value) ? value : [value];
    return list.map((object: unknown, index): CastItem => {
      const inner: unknown = isSeq(node) ? node.get(index, true) : node;
      if (typeof object !== 'object' || object === null || Array.isArray(object))
        throw refuse(at(key), `${key} must be an object or a list of objects`);
      const start = isNode(inner) ? inner : (root as Node);
      return { kind, object: object as JsonObject, locate: locator(file, lines, start) };
    });
  });
}

/**
 * The objects in the text of a cast file.
 * @param file its name, for error messages
 * @throws StatusError InvalidArgument with file and line.
 */
export function castItems(text: string, file: string): readonly CastItem[] {
  const all: CastItem[] = [];
  const lines = new LineCounter();
  const deep = tooDeep(text);
  if (deep) {
    const line = text.slice(0, deep.offset).split('\n').length;
    throw refuse(`${file}:${line}`, `${deep.problem}; objects have fewer levels`);
  }
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false });
  for (const document of Array.isArray(documents) ? documents : []) {
    const [error] = document.errors;
    if (error) {
      // A line with too much indentation continues the value of the previous line, so that line is reported.
      const tooFar = document.errors.find(({ code }) => code === 'MULTILINE_IMPLICIT_KEY');
      if (tooFar) {
        const { line } = lines.linePos(tooFar.pos[1]);
        throw refuse(
          `${file}:${line}`,
          'is indented further than the previous line, which already has a value; align it with the fields above',
        );
      }
      const line = lines.linePos(error.pos[0]).line;
      throw refuse(`${file}:${line}`, error.message.split('\n')[0] ?? error.message);
    }
    all.push(...items(file, lines, document));
  }
  return all;
}
