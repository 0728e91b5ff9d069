import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, sleep } from 'kedge';
import { openLogToRead } from '../logs/log-file.js';
import { isAlive, readIfExists, readProcessId } from '../launch/process-table.js';

/** Maximum characters of a log line in a message. */
const lineLengthMax = 300;
const tailBytes = 4_096;

/** A run whose supervisor was spawned. */
export interface SpawnedRun {
  readonly directory: string;
  readonly logFile: string;
  /** Size of the log before this run. */
  readonly logOffset: number;
  /**
   * Resolves with the supervisor's exit code when it ends; null after a signal, or if the launcher ended first: the
   * supervisor may still run then.
   */
  readonly supervisorEnd: Promise<number | null>;
}

/** Options of {@link settleStart}. */
export interface StartLimits {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Maximum probe interval of the folder. */
  readonly pollMs: number;
  /** Aborts the wait: the run was observed as running or ended, or its folder is about to be removed. */
  readonly signal: AbortSignal;
}

/**
 * Waits until the supervisor has written the workload's pid. If the supervisor ends before, or the timeout passes, the
 * run is abandoned and its folder records the reason, unless a live supervisor has claimed the run. Resolves early when
 * the signal aborts.
 */
export async function settleStart(
  run: SpawnedRun,
  { clock, timeoutMs, pollMs, signal }: StartLimits,
): Promise<void> {
  const pid = join(run.directory, 'pid');
  let end: { readonly code: number | null } | undefined;
  void run.supervisorEnd.then((code) => (end = { code }));
  const until = clock.monotonic() + timeoutMs;
  for (let waitMs = 5; clock.monotonic() < until; waitMs = Math.min(waitMs * 2, pollMs)) {
    // Checked before the file is read, because the supervisor writes before it ends.
    const ended = end !== undefined;
    if (readProcessId(pid) !== undefined) return;
    if (ended) break;
    await sleep(clock, waitMs, signal);
    if (signal.aborted) return;
  }
  const what = end
    ? `its supervisor ended with exit code ${end.code ?? 'unknown'} before it started the workload`
    : `its supervisor did not start the workload within ${timeoutMs / 1_000} s`;
  const line = await lastLine(run.logFile, run.logOffset);
  await abandon(run.directory, line === '' ? what : `${what}: ${line}`);
}

/** Claims a run in place of its supervisor, unless the supervisor has claimed it and is running. */
async function abandon(directory: string, message: string): Promise<void> {
  const claimed = join(directory, 'claimed');
  try {
    await mkdir(claimed);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const supervisor = readProcessId(join(claimed, 'supervisor'));
    if (supervisor && isAlive(supervisor)) return;
  }
  await writeFile(join(claimed, 'abandoned'), message);
}

/** The last non-empty line after an offset; empty without one. */
async function lastLine(file: string, offset: number): Promise<string> {
  const handle = await openLogToRead(file);
  if (!handle) return '';
  try {
    const { size } = await handle.stat();
    const from = Math.max(offset, size - tailBytes);
    const buffer = Buffer.alloc(Math.max(0, size - from));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, from);
    const lines = buffer.toString('utf8', 0, bytesRead).split('\n');
    const line = lines.findLast((text) => text.trim() !== '') ?? '';
    return line.trim().slice(0, lineLengthMax);
  } finally {
    await handle.close();
  }
}

/**
 * The reason why a run was abandoned; empty if an observation found that no supervisor had claimed it; undefined if it
 * was not abandoned.
 */
export function abandonedBecause(directory: string): string | undefined {
  return readIfExists(join(directory, 'claimed', 'abandoned'));
}

/** The supervisor's reason for a failed start; empty if it started or gave none. */
export function refusalOf(directory: string): string {
  const reason = readIfExists(join(directory, 'refused')) ?? '';
  return reason.trim().slice(0, lineLengthMax);
}
