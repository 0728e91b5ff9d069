import type { MethodInfo } from '../../rpc/index.js';

/** Finds the HTTP methods that a path supports, for the error about an unsupported one. */
export class RouteMatcher {
  readonly #routes: readonly { readonly method: string; readonly form: RegExp }[];

  constructor(methods: readonly MethodInfo[], more: readonly { method: string; path: string }[]) {
    const all = [...methods.flatMap(({ route }) => (route ? [route] : [])), ...more];
    this.#routes = all.map(({ method, path }) => ({ method, form: formOf(path) }));
  }

  /** Returns the HTTP methods of a path, sorted; none for an unknown path. */
  methodsOf(path: string): readonly string[] {
    const decoded = path.split('/').map(decodedSegment).join('/');
    const found = this.#routes.filter(({ form }) => form.test(decoded)).map((r) => r.method);
    return [...new Set(found)].sort();
  }
}

/**
 * Decodes a segment; an encoded slash is part of the name, not a separator. A malformed segment is returned unchanged.
 */
function decodedSegment(segment: string): string {
  try {
    return decodeURIComponent(segment).replaceAll('/', '\u0001');
  } catch {
    return segment;
  }
}

function formOf(path: string): RegExp {
  const parts = path.split(/(\{\w+\})/).map((part) => {
    if (!part.startsWith('{')) return part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
    return '[^/:]+';
  });
  // A name ends at a colon, because a custom verb follows it.
  return new RegExp(`^${parts.join('')}/?$`);
}

/** Converts a path of google.api.http to fastify's syntax; a name ends at the colon, for custom verbs. */
export function fastifyPath(path: string): string {
  return path
    .replace(/\{(\w+)\}:(\w+)$/, ':$1(^[^:]+)::$2')
    .replace(/\/(\w+):(\w+)$/, '/$1::$2')
    .replace(/\{name\}($|\/)/, ':name(^[^:]+)$1')
    .replaceAll(/\{(\w+)\}/g, ':$1');
}
