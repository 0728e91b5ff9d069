import { readFile, realpath } from 'node:fs/promises';
import type { Propagation } from './container-config.js';

/**
 * Whether the mount of a path is shared or a slave by the kernel's mount table, so that mounts can propagate
 * from it.
 */
function isPropagated(mountInfo: string, path: string): boolean {
  let best = { length: -1, propagated: false };
  for (const line of mountInfo.split('\n')) {
    const fields = line.split(' ');
    const target = (fields[4] ?? '').replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(parseInt(octal, 8)),
    );
    const isOn = target === '/' || path === target || path.startsWith(`${target}/`);
    // The later of two mounts on the same target counts.
    if (!isOn || target === '' || target.length < best.length) continue;
    const optional = fields.slice(6, fields.indexOf('-'));
    const propagated = optional.some((field) => /^(shared|master):/.test(field));
    best = { length: target.length, propagated };
  }
  return best.propagated;
}

/**
 * Returns the propagation for each source, in order. It is `rprivate` on a private mount, for which the engine refuses
 * `rslave`. Links are resolved, as the engine does. A source that is absent has the propagation of its path.
 * @param file the mount table
 */
export async function propagationOf(
  sources: readonly string[],
  file = '/proc/self/mountinfo',
): Promise<readonly Propagation[]> {
  const mountInfo = await readFile(file, 'utf8');
  const real = await Promise.all(sources.map((source) => realpath(source).catch(() => source)));
  return real.map((source) => (isPropagated(mountInfo, source) ? 'rslave' : 'rprivate'));
}
