import type { RunStart } from '../../log/runs.js';
import type { LaunchFile } from '../launch/launcher.js';
import { readIfExists } from './process-table.js';

/**
 * Stored beside the log that all runs of a workload share, because the folder of a run is removed by the next run.
 */
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

/** The file that records the start of a run's output in the log of its workload, and that of the run before. */
export function runStartNote(logFile: string, start: Note): LaunchFile {
  const before = notes(logFile).filter((note) => note.run === start.run - 1);
  const lines = [...before, start].map(
    ({ run, position, at }) => `${run} ${position.offset} ${position.check} ${at}\n`,
  );
  return { path: notesOf(logFile), text: lines.join('') };
}

/**
 * The start offsets of the last two runs, the earlier one first; fewer if there were fewer, or in an earlier
 * release.
 */
export function runStarts(logFile: string): readonly RunStart[] {
  return notes(logFile);
}
