import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openLogToRead } from '../../log/log-file.js';
import { positionAt } from '../../log/log-reader.js';
import type { RunStart } from '../../log/runs.js';
import { readIfExists } from './process-table.js';

function noteIn(directory: string): string {
  return join(directory, 'log-start');
}

/** Notes where the output of a run begins in the log of its workload, which all its runs share. */
export async function noteRunStart(
  directory: string,
  logFile: string,
  offset: number,
): Promise<void> {
  const log = await openLogToRead(logFile);
  try {
    const check = log && offset > 0 ? (await positionAt(log, offset)).check : 0;
    await writeFile(noteIn(directory), `${offset} ${check}\n`);
  } finally {
    await log?.close();
  }
}

/** Where the output of a run begins; undefined for one that an earlier release started. */
export async function readRunStart(directory: string): Promise<RunStart | undefined> {
  const text = await readIfExists(noteIn(directory));
  const [, offset, check] = /^(\d+) (\d+)\n$/.exec(text ?? '') ?? [];
  if (offset === undefined) return undefined;
  const { mtimeMs } = await stat(noteIn(directory));
  return { position: { offset: Number(offset), check: Number(check) }, at: mtimeMs };
}
