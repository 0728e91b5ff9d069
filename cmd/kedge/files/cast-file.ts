import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type FieldViolation, invalid, limits, StatusError } from 'kedge';
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
import { didYouMean, nearest } from '../../near-miss.js';
import { kindSpelled } from '../connection/api.js';
import { tooDeep } from './yaml-depth.js';

/** An object of a cast file, with the lines of its fields. */
export interface CastItem {
  readonly kind: string;
  readonly object: JsonObject;
  /** `file:line` of a dotted field path. */
  readonly locate: (field: string) => string;
}

/** Short form: `service:` and so on as the key, each with one object or a list. */
const keyed: Readonly<Record<string, string>> = Object.fromEntries(
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

/** A list as printed by `kedge get -o yaml`. Its kind is that of each item, because items may have a field `kind`. */
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

/** A list of several kinds as printed by `kedge get`: each item has its kind, or is below the name of its kind. */
function mixedItems(at: (field: string) => string, list: unknown): CastItem[] {
  if (!Array.isArray(list)) throw refuse(at('items'), 'items must be a list of objects');
  return list.map((item: unknown, index): CastItem => {
    const path = `items[${index}]`;
    if (!isJsonObject(item)) throw refuse(at(path), 'must be an object');
    const { kind, ...object } = item;
    if (typeof kind === 'string' && kindSpelled(kind))
      return { kind, object, locate: (field) => at(`${path}.${field}`) };
    const [[key = '', inner] = []] = Object.entries(item);
    const own = keyed[key];
    if (own === undefined || !isJsonObject(inner))
      throw refuse(at(path), 'must tell its kind, such as kind: Volume');
    return { kind: own, object: inner, locate: (field) => at(`${path}.${key}.${field}`) };
  });
}

function items(file: string, lines: LineCounter, document: Document): CastItem[] {
  const root = document.contents;
  if (root === null || (isScalar(root) && root.value === null)) return [];
  const at = locator(file, lines, root);
  if (!isMap(root)) throw refuse(at(''), 'a document must be an object');
  const content = document.toJS() as Record<string, unknown>;
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
    const kind = keyed[key];
    if (kind === undefined)
      throw refuse(
        at(key),
        `${JSON.stringify(key)} is not expected here${didYouMean(key, ['kind', ...Object.keys(keyed)]) || `; use kind: or one of ${Object.keys(keyed).join(', ')}`}`,
      );
    const node: unknown = root.get(key, true);
    const list = Array.isArray(value) ? value : [value];
    return list.map((object: unknown, index): CastItem => {
      const inner: unknown = isSeq(node) ? node.get(index, true) : node;
      if (typeof object !== 'object' || object === null || Array.isArray(object))
        throw refuse(at(key), `${key} must hold an object or a list of objects`);
      const start = isNode(inner) ? inner : (root as Node);
      return { kind, object: object as JsonObject, locate: locator(file, lines, start) };
    });
  });
}

/** A file in the same folder with a similar name. */
async function nearFile(path: string): Promise<string> {
  const names = await readdir(dirname(path)).catch(() => []);
  const meant = nearest(basename(path), names);
  return meant === undefined ? '' : ` (did you mean ${join(dirname(path), meant)}?)`;
}

async function expand(path: string): Promise<readonly string[]> {
  if (path === '-') return [path];
  let found;
  try {
    found = await stat(path);
  } catch (cause) {
    throw new StatusError({
      code: 'NotFound',
      reason: 'FileNotFound',
      message: `${path} does not exist${await nearFile(path)}; name a YAML file, a directory of them, or - for standard input`,
      cause,
    });
  }
  if (!found.isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => /\.ya?ml$/.test(name)).sort();
  return names.map((name) => join(path, name));
}

function tooLong(name: string): StatusError {
  return refuse(
    name,
    `has more than ${limits.requestBytesMax} bytes, which is more than one request may hold; cast its objects in several files`,
  );
}

async function readInput(path: string, name: string): Promise<string> {
  if (path !== '-') {
    if ((await stat(path)).size > limits.requestBytesMax) throw tooLong(name);
    return readFile(path, 'utf8');
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > limits.requestBytesMax) throw tooLong(name);
  }
  return Buffer.concat(chunks).toString();
}

/** Reads cast files. @throws StatusError InvalidArgument with file and line. */
export async function readCastFiles(paths: readonly string[]): Promise<readonly CastItem[]> {
  const all: CastItem[] = [];
  for (const path of (await Promise.all(paths.map(expand))).flat()) {
    const lines = new LineCounter();
    const file = path === '-' ? 'standard input' : path;
    const text = await readInput(path, file);
    const deep = tooDeep(text);
    if (deep) {
      const line = text.slice(0, deep.offset).split('\n').length;
      throw refuse(`${file}:${line}`, `${deep.problem}; no object has so many levels`);
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
            'is indented further than the line before, which has its value already; line it up with the fields above',
          );
        }
        const line = lines.linePos(error.pos[0]).line;
        throw refuse(`${file}:${line}`, error.message.split('\n')[0] ?? error.message);
      }
      all.push(...items(file, lines, document));
    }
  }
  if (all.length === 0) throw refuse(paths.join(', '), 'holds no objects');
  return all;
}

/** The server's violations with their lines in the files. */
export function located(error: StatusError, cast: readonly CastItem[]): StatusError {
  if (error.violations.length === 0) return error;
  const violations = error.violations.map((violation): FieldViolation => {
    const match = /^objects\[(\d+)\](?: \([^)]*\))?\.?(.*)$/.exec(violation.field);
    const item = cast[match ? Number(match[1]) : 0];
    const field = match ? (match[2] ?? '') : violation.field;
    if (!item || (!match && cast.length > 1)) return violation;
    const name = typeof item.object.name === 'string' ? ` ${item.object.name}` : '';
    return {
      field: `${item.locate(field)}: ${item.kind}${name}: ${field}`,
      description: violation.description,
    };
  });
  const { code, reason, message } = error;
  return new StatusError({ code, reason, message, violations });
}

/** An object without a namespace gets that of the command line. */
export function placed(item: CastItem, namespace: string | undefined): CastItem {
  // A file may mix cluster-scoped objects, such as a namespace, with objects in that namespace.
  const clusterScoped = kindSpelled(item.kind)?.scope === 'Cluster';
  if (namespace === undefined || clusterScoped || item.object.namespace !== undefined) return item;
  return { ...item, object: { ...item.object, namespace } };
}
