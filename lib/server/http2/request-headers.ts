import type { Header } from './static-table.js';
import type { StreamRequest } from './stream.js';

/** Separates the pseudo-headers of a request; undefined if they are not those of a request. */
export function requestOf(headers: readonly Header[]): StreamRequest | undefined {
  let method: string | undefined;
  let path: string | undefined;
  let scheme: string | undefined;
  let authority: string | undefined;
  let at = 0;
  for (; at < headers.length; at += 1) {
    const [name, value] = headers[at] ?? ['', ''];
    if (!name.startsWith(':')) break;
    if (name === ':method' && method === undefined) method = value;
    else if (name === ':path' && path === undefined) path = value;
    else if (name === ':scheme' && scheme === undefined) scheme = value;
    else if (name === ':authority' && authority === undefined) authority = value;
    else return undefined;
  }
  if (!method || !path || scheme === undefined) return undefined;
  const others = headers.slice(at);
  if (others.some(([name]) => name.startsWith(':'))) return undefined;
  return { method, path, authority, headers: others };
}
