import type { RunStart } from '../logs/runs.js';
import type { LaunchFile } from '../launch/launcher.js';
import { readIfExists } from '../launch/process-table.js';

/** The file with the starts of runs. It is stored beside the log, because the next run removes the folder of a run. */
function notesOf(logFile: string): string {
  return `${logFile}.runs`;
}

/** The start of a run with its number. */
export interface Note extends RunStart {
  readonly run: number;
}

function notes(logFile: string): readonly Note[] {
  const text = readIfExists(notesOf(logFile)) ?? '';
  return text.split('\n').flatMap((line): readonly Note[] => {
    const numbers = /^(\d+) (\d+) (\d+) (\d+)$/.exec(line)?.slice(1).map(Number);
    if (!numbers) return [];
    const [run = 0, offset = 0, check = 0, at = 0] = numbers;
    return [{ run, position: { offset, check }, at }];
  });
}

/** The file that records the start offset of a run in the log of its workload, and that of the previous run. */
export function runStartNote(logFile: string, start: Note): LaunchFile {
  const before = notes(logFile).filter((note) => note.run === start.run - 1);
  const lines = [...before, start].map(
    ({ run, position, at }) => `${run} ${position.offset} ${position.check} ${at}\n`,
  );
  return { path: notesOf(logFile), text: lines.join('') };
}

/**
 * The start offsets of the last two runs, oldest first. Fewer for fewer runs, and for runs of an earlier
 * release.
 */
export function runStarts(logFile: string): readonly RunStart[] {
  return notes(logFile);
}
