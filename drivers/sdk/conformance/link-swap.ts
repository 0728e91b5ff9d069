import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from './failure.js';

const count = 2_000;
/** Puts a link to $2 in the place of a directory in $1, once its first file is removed. */
const swap =
  'cd "$1"; echo ready; while [ -e many/0 ]; do :; done; mv many moved && ln -s "$2" many';

/**
 * Runs a removal of a directory while a program which has the directory open replaces a directory in it by a link to
 * another one.
 * @param own the directory, which is created with its content
 * @param victim the directory that the link names, which is created too
 * @param remove removes `own`; an error is ignored, because the link may be in its way
 * @throws ConformanceError if something was removed through the link
 */
export async function removeDuringLinkSwap(
  own: string,
  victim: string,
  remove: () => Promise<void>,
): Promise<void> {
  for (const folder of [join(own, 'many'), victim]) {
    mkdirSync(folder, { recursive: true });
    for (let n = 0; n < count; n += 1) writeFileSync(join(folder, String(n)), '');
  }
  const accomplice = spawn('/bin/sh', ['-c', swap, 'sh', own, victim], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const gone = once(accomplice, 'exit');
  await once(accomplice.stdout, 'data');
  await remove().catch(() => undefined);
  await gone;
  const left = readdirSync(victim).length;
  assert(left === count, `${count - left} of ${count} files were removed through a link`);
}
