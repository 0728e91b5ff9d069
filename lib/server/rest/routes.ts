import type { MethodInfo } from '../../rpc/index.js';

/** Tells which methods a path takes, for those that asked with another one. */
export class RouteMatcher {
  readonly #routes: readonly { readonly method: string; readonly form: RegExp }[];

  constructor(methods: readonly MethodInfo[], more: readonly { method: string; path: string }[]) {
    const all = [...methods.flatMap(({ route }) => (route ? [route] : [])), ...more];
    this.#routes = all.map(({ method, path }) => ({ method, form: formOf(path) }));
  }

  /** HTTP methods of a path; none when there is no such path. */
  methodsOf(path: string): readonly string[] {
    const decoded = path.split('/').map(decodedSegment).join('/');
    const found = this.#routes.filter(({ form }) => form.test(decoded)).map((r) => r.method);
    return [...new Set(found)].sort();
  }
}

/** A slash inside a name is none between segments. */
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
  // Names stop at the colon: custom verbs follow it.
  return new RegExp(`^${parts.join('')}/?$`);
}

/** google.api.http's path in fastify's syntax; a name stops at the colon, for custom verbs. */
export function fastifyPath(path: string): string {
  return path
    .replace(/\{(\w+)\}:(\w+)$/, ':$1(^[^:]+)::$2')
    .replace(/\/(\w+):(\w+)$/, '/$1::$2')
    .replace(/\{name\}($|\/)/, ':name(^[^:]+)$1')
    .replaceAll(/\{(\w+)\}/g, ':$1');
}
