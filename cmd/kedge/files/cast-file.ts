import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type FieldViolation, invalid, limits, StatusError } from 'kedge/objects';
import { nearest } from '../../near-miss.js';
import { kindSpelled } from '../connection/api.js';
import type { CastItem } from './cast-items.js';

export type { CastItem } from './cast-items.js';

/** A hint at a file in the same folder with a similar name; empty without one. */
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
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw cause;
    throw new StatusError({
      code: 'NotFound',
      reason: 'FileNotFound',
      message: `${path} does not exist${await nearFile(path)}; use a YAML file, a directory of YAML files, or - for standard input`,
      cause,
    });
  }
  if (!found.isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => /\.ya?ml$/.test(name)).sort();
  return names.map((name) => join(path, name));
}

function tooLong(name: string): StatusError {
  return invalid([
    {
      field: name,
      description: `has more than ${limits.requestBytesMax} bytes, which is the maximum of a request; split its objects into several files`,
    },
  ]);
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

/**
 * Reads cast files, the YAML files of directories, and standard input (`-`).
 * @throws StatusError InvalidArgument with file and line, NotFound (FileNotFound); the system's error for a file that
 * can't be read
 */
export async function readCastFiles(paths: readonly string[]): Promise<readonly CastItem[]> {
  // The YAML parser takes long to load, and most commands read no file.
  const { castItems } = await import('./cast-items.js');
  const all: CastItem[] = [];
  for (const path of (await Promise.all(paths.map(expand))).flat()) {
    const file = path === '-' ? 'standard input' : path;
    const text = await readInput(path, file);
    all.push(...castItems(text, file));
  }
  if (all.length === 0)
    throw invalid([{ field: paths.join(', '), description: 'contains no objects' }]);
  return all;
}

/** Returns the error with the lines of its violations in the files. */
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

/** The item, with the namespace of the command line if its object has none and its kind is not cluster-scoped. */
export function placed(item: CastItem, namespace: string | undefined): CastItem {
  // A file may mix cluster-scoped objects, such as a namespace, with objects in that namespace.
  const clusterScoped = kindSpelled(item.kind)?.scope === 'Cluster';
  if (namespace === undefined || clusterScoped || item.object.namespace !== undefined) return item;
  return { ...item, object: { ...item.object, namespace } };
}
