import { linkSignals, messageOf } from 'kedge';
import type { LogLine, LogRequest } from '../runtime/log.js';
import type { EngineContainers, LogQuery } from './engine/engine-containers.js';
import { isEngineError } from './engine/engine-error.js';
import { ReadAhead } from './engine/read-ahead.js';
import type { StreamPiece } from './engine/stream-frames.js';
import { disorderSeconds, LineReader, type Place, placeOf } from './log-frames.js';

/** Bytes that are read of a followed log at once: less than half of the 10 MB at which the engine rotates it. */
const followedBytesMax = 4 * 1024 * 1024;

/** A run of a workload with its container, whose log can be read. */
export interface LoggedRun {
  readonly run: number;
  readonly container: string;
}

/** The errors of a container that was removed, or is being removed. */
const removed = ['NotFound', 'Conflict'] as const;

/** The place before the first line of a run. */
const noPlace = { seconds: 0, nanoseconds: 0, count: 0 };

/** A time in the engine's form: seconds and nine digits. */
function engineTime(seconds: number, nanoseconds: number): string {
  return `${seconds}.${String(nanoseconds).padStart(9, '0')}`;
}

/** Dependencies of {@link readContainerLog}. */
export interface ContainerLogOptions {
  readonly containers: EngineContainers;
  /** Finds the containers whose logs are kept, oldest run first. */
  readonly runs: () => Promise<readonly LoggedRun[]>;
  /** Returns the line that reports lost output of a container; undefined if no output was lost. */
  readonly lost: (container: string) => Promise<string | undefined>;
  /** Resolves when a run may have started, or after a short time. */
  readonly nextRun: (signal: AbortSignal) => Promise<void>;
}

/** The lines of the log of one run. */
export async function* readRun(
  containers: EngineContainers,
  { run, container }: LoggedRun,
  query: LogQuery,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  const reader = new LineReader(run, undefined);
  for await (const piece of containers.logs(container, query, signal)) yield* reader.take(piece);
  yield* reader.end();
}

/**
 * The lines of the log of a run that has ended, and a line that says so if the engine can't read the rest.
 * @throws EngineError of other kinds than `Failed`
 */
export async function* readEndedRun(
  containers: EngineContainers,
  logged: LoggedRun,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  try {
    yield* readRun(containers, logged, { follow: false }, signal);
  } catch (error) {
    if (!isEngineError(error, 'Failed')) throw error;
    const { run } = logged;
    yield { content: unreadable(run, error), cursor: [run, 0, 0, 0] };
  }
}

/**
 * The line in the place of output that the engine can't read: a full disk, for example, leaves a damaged log.
 */
function unreadable(run: number, error: unknown): string {
  return `[kedge] the engine can't read the rest of the output of run ${run}: ${messageOf(error)}; the next run has a log of its own`;
}

/**
 * Yields the retained output of all runs of a workload. With `follow` it waits while the engine is unavailable.
 * @throws EngineError; with `follow` only of a kind that does not pass, such as `Unsupported`
 */
export async function* readContainerLog(
  options: ContainerLogOptions,
  request: LogRequest,
): AsyncGenerator<LogLine> {
  const { follow, signal } = request;
  const reading = new LogReading(options, request);
  while (!signal.aborted) {
    try {
      yield* reading.pass();
    } catch (error) {
      if (signal.aborted) return;
      const isAway = isEngineError(error, 'Unreachable', 'Broken', 'Timeout', 'Failed', ...removed);
      if (!follow || !isAway) throw error;
    }
    if (!follow) return;
    await options.nextRun(signal);
  }
}

/** A reading of a log, and the position that it has reached. */
class LogReading {
  readonly #options: ContainerLogOptions;
  readonly #request: LogRequest;
  #place: Place | undefined;
  /** Runs whose lost output was reported. */
  readonly #reported = new Set<number>();
  /** Runs whose unreadable output was reported. */
  readonly #damaged = new Set<number>();
  /** The number of last frames to read of a run; all if absent. */
  #limits: ReadonlyMap<number, number> | undefined;

  constructor(options: ContainerLogOptions, request: LogRequest) {
    this.#options = options;
    this.#request = request;
    this.#place = placeOf(request.after);
    if (this.#place) this.#limits = new Map();
  }

  /** The lines after the position until now; with `follow` until the last run has ended. */
  async *pass(): AsyncGenerator<LogLine> {
    const runs = await this.#options.runs();
    this.#limits ??= await tails(this.#options.containers, runs, this.#request);
    for (const logged of runs) {
      const { run } = logged;
      if (run < (this.#place?.run ?? 0) || this.#limits.get(run) === 0) continue;
      const isLast = logged === runs.at(-1);
      try {
        if (this.#request.follow && isLast) yield* this.#followed(logged);
        // A follower may miss the last frames of a container, so the log is read once more after its end.
        yield* this.#read(logged);
      } catch (error) {
        if (!isEngineError(error, 'Failed', ...removed) || this.#request.signal.aborted)
          throw error;
        if (!isEngineError(error, ...removed)) yield* this.#unreadable(run, error);
        // The engine may be about to stop, so a follower reads the last run again.
        if (this.#request.follow && isLast) return;
      }
      yield* this.#gap(logged);
      // The position also moves past a run without output.
      if (this.#place?.run !== run) this.#place = { run, seconds: 0, nanoseconds: 0, count: 0 };
    }
  }

  /**
   * Yields the line that reports lost output, once per run. A reader that resumes at this position has received it
   * already.
   */
  async *#gap({ run, container }: LoggedRun): AsyncGenerator<LogLine> {
    if (this.#reported.has(run)) return;
    const content = await this.#options.lost(container);
    if (content === undefined) return;
    this.#reported.add(run);
    const { seconds, nanoseconds, count } = this.#place?.run === run ? this.#place : noPlace;
    const after = this.#request.after;
    const cursor = [run, seconds, nanoseconds, count];
    if (after?.join() !== cursor.join()) yield { content, cursor };
  }

  /** Yields the line that reports output that can't be read, once per run. */
  *#unreadable(run: number, error: unknown): Generator<LogLine> {
    if (this.#damaged.has(run)) return;
    this.#damaged.add(run);
    const { seconds, nanoseconds, count } = this.#place?.run === run ? this.#place : noPlace;
    yield { content: unreadable(run, error), cursor: [run, seconds, nanoseconds, count] };
  }

  /**
   * The lines of a container until its end. An engine that is behind with a followed log at its second rotation omits
   * what is in between without an error (Docker 20.10). So the engine is never delayed by a slow reader, and the log is
   * read without following it before it can be rotated twice.
   */
  async *#followed(logged: LoggedRun): AsyncGenerator<LogLine> {
    const stop = new AbortController();
    using link = linkSignals(this.#request.signal, stop.signal);
    try {
      for (let isCut = true; isCut; ) {
        const kept = this.#open(logged, false);
        yield* this.#lines(kept.reader, kept.pieces);
        const { reader, pieces } = this.#open(logged, true, link.signal);
        // The frames before the position do not count: with many of them, no reading would get past the position.
        const ahead = new ReadAhead(linesOfFrames(reader, pieces), followedBytesMax, bytesOf);
        for await (const lines of ahead) for (const line of lines) yield this.#passed(line);
        ({ isCut } = ahead);
      }
    } finally {
      stop.abort();
    }
  }

  async *#read(logged: LoggedRun): AsyncGenerator<LogLine> {
    const { reader, pieces } = this.#open(logged, false);
    yield* this.#lines(reader, pieces);
    for (const line of reader.end()) yield this.#passed(line);
  }

  async *#lines(reader: LineReader, pieces: AsyncIterable<StreamPiece>): AsyncGenerator<LogLine> {
    for await (const piece of pieces)
      for (const line of reader.take(piece)) yield this.#passed(line);
  }

  /** The log of a container from the position on. */
  #open(
    { run, container }: LoggedRun,
    follow: boolean,
    signal = this.#request.signal,
  ): { readonly reader: LineReader; readonly pieces: AsyncGenerator<StreamPiece> } {
    const { since, until } = this.#request;
    const here = this.#place?.run === run && this.#place.seconds > 0 ? this.#place : undefined;
    const limit = this.#place?.run === run ? undefined : this.#limits?.get(run);
    const query: LogQuery = {
      follow,
      ...(here
        ? { since: engineTime(here.seconds - disorderSeconds, here.nanoseconds) }
        : sinceOf(since)),
      ...(limit !== undefined && { tail: limit }),
      ...untilOf(until),
    };
    const pieces = this.#options.containers.logs(container, query, signal);
    return { reader: new LineReader(run, here), pieces };
  }

  #passed(line: LogLine): LogLine {
    this.#place = placeOf(line.cursor);
    return line;
  }
}

/** The lines that each frame completes. */
async function* linesOfFrames(
  reader: LineReader,
  pieces: AsyncIterable<StreamPiece>,
): AsyncGenerator<readonly LogLine[]> {
  for await (const piece of pieces) {
    const lines = [...reader.take(piece)];
    if (lines.length > 0) yield lines;
  }
}

function bytesOf(lines: readonly LogLine[]): number {
  return lines.reduce((sum, { content }) => sum + content.length, 0);
}

function sinceOf(since: number | undefined): { readonly since?: string } {
  return since === undefined ? {} : { since: String(since / 1_000) };
}

function untilOf(until: number | undefined): { readonly until?: string } {
  return until === undefined ? {} : { until: String(until / 1_000) };
}

/** The number of last frames of each run that contain the last `tail` lines. A frame is nearly always one line. */
async function tails(
  containers: EngineContainers,
  runs: readonly LoggedRun[],
  { tail, since, signal }: LogRequest,
): Promise<ReadonlyMap<number, number>> {
  const limits = new Map<number, number>();
  if (tail <= 0) return limits;
  let left = tail;
  for (const logged of runs.toReversed()) {
    limits.set(logged.run, left);
    if (left === 0) continue;
    const query = { follow: false, tail: left, ...sinceOf(since) };
    let lines = 0;
    try {
      for await (const _line of readRun(containers, logged, query, signal)) lines += 1;
    } catch (error) {
      // It is reported when its lines are read.
      if (!isEngineError(error, 'Failed', ...removed)) throw error;
    }
    left = Math.max(0, left - lines);
  }
  return limits;
}
