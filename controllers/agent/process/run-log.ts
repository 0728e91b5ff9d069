import { rename, writeFile } from 'node:fs/promises';
import { openLogToRead } from '../../log/log-file.js';
import { positionAt } from '../../log/log-reader.js';
import type { RunStart } from '../../log/runs.js';
import { readIfExists } from './process-table.js';

/**
 * Stored beside the log that all runs of a workload share, because the folder of a run is removed by the next run.
 */
function notesOf(logFile: string): string {
  return `${logFile}.runs`;
}

interface Note extends RunStart {
  readonly run: number;
}

async function notes(logFile: string): Promise<readonly Note[]> {
  const text = (await readIfExists(notesOf(logFile))) ?? '';
  return text.split('\n').flatMap((line): readonly Note[] => {
    const numbers = /^(\d+) (\d+) (\d+) (\d+)$/.exec(line)?.slice(1).map(Number);
    if (!numbers) return [];
    const [run = 0, offset = 0, check = 0, at = 0] = numbers;
    return [{ run, position: { offset, check }, at }];
  });
}

/**
 * Records the start offset of a run's output in the log of its workload.
 * @param offset the size of the log before it
 * @param now milliseconds since the epoch
 */
export async function noteRunStart(
  logFile: string,
  { run, offset, now }: { readonly run: number; readonly offset: number; readonly now: number },
): Promise<void> {
  const log = await openLogToRead(logFile);
  try {
    const check = log && offset > 0 ? (await positionAt(log, offset)).check : 0;
    const before = (await notes(logFile)).filter((note) => note.run === run - 1);
    const kept = [...before, { run, position: { offset, check }, at: now }];
    const lines = kept.map((n) => `${n.run} ${n.position.offset} ${n.position.check} ${n.at}\n`);
    const fresh = `${notesOf(logFile)}.new`;
    await writeFile(fresh, lines.join(''), { mode: 0o600 });
    await rename(fresh, notesOf(logFile));
  } finally {
    await log?.close();
  }
}

/**
 * The start offsets of the last two runs, the earlier one first; fewer if there were fewer, or in an earlier
 * release.
 */
export async function runStarts(logFile: string): Promise<readonly RunStart[]> {
  return notes(logFile);
}
