import { realpath, stat } from 'node:fs/promises';
import { dirname, normalize } from 'node:path';
import type { DeniedPath } from '@kedge/driver-sdk';
import { isWithin } from './within.js';

/** The relation of a host path to a denied one; undefined if they do not overlap. */
function relationOf(path: string, denied: string): 'is' | 'contains' | 'lies in' | undefined {
  if (path === denied) return 'is';
  if (isWithin(denied, path)) return 'contains';
  return isWithin(path, denied) ? 'lies in' : undefined;
}

function refusal(path: string, relation: string, denied: DeniedPath): string {
  const what = relation === 'is' ? denied.name : `${denied.path}, ${denied.name}`;
  return `${JSON.stringify(path)} ${relation} ${what}, which no workload may reach; choose a directory that is used by workloads alone`;
}

/** The violation of a host path by the text of denied paths; undefined if there is none. */
export function deniedProblem(path: string, denylist: readonly DeniedPath[]): string | undefined {
  for (const denied of denylist) {
    const relation = relationOf(normalize(path).replace(/(.)\/$/, '$1'), normalize(denied.path));
    if (relation) return refusal(path, relation, denied);
  }
  return undefined;
}

/** A denied path with its links resolved, as far as it exists. */
async function realOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : `${await realOf(parent)}${path.slice(parent.length)}`;
  }
}

/** Identity of a file, which bind mounts do not change. */
async function identityOf(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found && `${found.dev}:${found.ino}`;
}

/** Whether a denied path or one of the directories that contain it is the given directory. */
async function isOnWay(directory: string, denied: string): Promise<boolean> {
  const identity = await identityOf(directory);
  for (let at = denied; ; at = dirname(at)) {
    if (identity !== undefined && (await identityOf(at)) === identity) return true;
    if (at === dirname(at)) return false;
  }
}

/**
 * The violation of a directory by the real files of denied paths: links are resolved, and bind mounts of a denied
 * directory or of one that contains it are recognized.
 * @param real the path with links resolved
 */
export async function deniedRealProblem(
  real: string,
  denylist: readonly DeniedPath[],
): Promise<string | undefined> {
  for (const denied of denylist) {
    const there = await realOf(denied.path);
    const relation =
      relationOf(real, there) ?? ((await isOnWay(real, there)) ? 'contains' : undefined);
    if (relation) return refusal(real, relation, denied);
  }
  return undefined;
}
