import { linkSignals } from 'kedge';
import type { LogLine, LogRequest } from '../runtime/log.js';
import type { EngineContainers } from './engine/engine-containers.js';
import { isEngineError } from './engine/engine-error.js';
import { ReadAhead } from './engine/read-ahead.js';
import type { StreamPiece } from './engine/stream-frames.js';
import {
  FramesResent,
  LineReader,
  type Place,
  PlaceFinder,
  PlacePassed,
  placeOf,
} from './log-frames.js';
import { rangeOf, type Tail, tails, withoutFirst } from './logs/log-queries.js';
import { type LoggedRun, removed, unreadable } from './logs/run-log.js';

/** Bytes that are read of a followed log at once: less than half of the 10 MB at which the engine rotates it. */
const followedBytesMax = 4 * 1024 * 1024;

/** The place before the first line of a run. */
const noPlace = { seconds: 0, nanoseconds: 0, count: 0 };

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
  /** The last lines to read of a run; all if absent. */
  #limits: ReadonlyMap<number, Tail> | undefined;

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
      if (run < (this.#place?.run ?? 0) || this.#limits.get(run)?.frames === 0) continue;
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
   * what is in between without an error (Docker 20.10). So a slow reader does not delay the engine, and the log is read
   * without following it before it can be rotated twice.
   */
  async *#followed(logged: LoggedRun): AsyncGenerator<LogLine> {
    const stop = new AbortController();
    using link = linkSignals(this.#request.signal, stop.signal);
    try {
      for (let isCut = true; isCut; ) {
        for await (const lines of this.#frames(logged, 'open'))
          for (const line of lines) yield this.#passed(line);
        // The frames before the position do not count: with many of them, no reading would get past the position.
        const frames = this.#frames(logged, 'followed', link.signal);
        const ahead = new ReadAhead(frames, followedBytesMax, bytesOf);
        try {
          for await (const lines of ahead) for (const line of lines) yield this.#passed(line);
          ({ isCut } = ahead);
        } catch (error) {
          // It is read on from the position, so that no line is repeated.
          if (!(error instanceof FramesResent)) throw error;
        }
      }
    } finally {
      stop.abort();
    }
  }

  async *#read(logged: LoggedRun): AsyncGenerator<LogLine> {
    for await (const lines of this.#frames(logged, 'whole'))
      for (const line of lines) yield this.#passed(line);
  }

  /**
   * The lines after the position, frame by frame.
   * @param how whole: with a last line that has no line break; open: without it, because more output follows
   */
  async *#frames(
    logged: LoggedRun,
    how: 'whole' | 'open' | 'followed',
    signal = this.#request.signal,
  ): AsyncGenerator<readonly LogLine[]> {
    const follow = how === 'followed';
    const here = this.#placeIn(logged);
    for (let framesUntil: number | undefined; ; ) {
      const reader = new LineReader(logged.run, here, framesUntil, { isFollowed: follow });
      try {
        const lines = linesOfFrames(reader, this.#pieces(logged, here, follow, signal));
        const whole = how === 'whole' ? withEnd(lines, reader) : lines;
        yield* withoutFirst(whole, this.#limitOf(logged.run)?.surplus ?? 0);
        return;
      } catch (error) {
        if (!(error instanceof PlacePassed) || !here) throw error;
        framesUntil = await this.#framesUntil(logged, here, signal);
      }
    }
  }

  /** The number of frames until that of the position; 0 if the engine no longer keeps it. */
  async #framesUntil(logged: LoggedRun, here: Place, signal: AbortSignal): Promise<number> {
    const finder = new PlaceFinder(here);
    for await (const piece of this.#pieces(logged, here, false, signal)) {
      const frames = finder.take(piece);
      if (frames !== undefined) return frames;
    }
    return 0;
  }

  /** The last lines to read of a run; undefined if the position is in it, or if all are read. */
  #limitOf(run: number): Tail | undefined {
    return this.#place?.run === run ? undefined : this.#limits?.get(run);
  }

  /** The position, if it is in the log of this run. */
  #placeIn({ run }: LoggedRun): Place | undefined {
    return this.#place?.run === run && this.#place.seconds > 0 ? this.#place : undefined;
  }

  /** The log of a container from shortly before a position on. */
  #pieces(
    { run, container }: LoggedRun,
    here: Place | undefined,
    follow: boolean,
    signal: AbortSignal,
  ): AsyncGenerator<StreamPiece> {
    const { since, until } = this.#request;
    const limit = this.#limitOf(run);
    const query = {
      follow,
      ...rangeOf({ since, until }, here),
      ...(limit && { tail: limit.frames }),
    };
    return this.#options.containers.logs(container, query, signal);
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

/** Lines, and at the end those that a reader still has. */
async function* withEnd(
  lines: AsyncIterable<readonly LogLine[]>,
  reader: LineReader,
): AsyncGenerator<readonly LogLine[]> {
  yield* lines;
  yield [...reader.end()];
}

function bytesOf(lines: readonly LogLine[]): number {
  return lines.reduce((sum, { content }) => sum + content.length, 0);
}
