import type { LogCursor, LogLine, LogRequest } from '../runtime/log.js';
import type { EngineContainers, LogQuery } from './engine/engine-containers.js';
import { isEngineError } from './engine/engine-error.js';
import type { StreamPiece } from './engine/stream-frames.js';

/** Longer lines are split here, which bounds memory regardless of the workload's output. */
const lineBytesMax = 64 * 1024;

/** A container with a log. */
export interface LoggedRun {
  readonly run: number;
  readonly container: string;
}

/**
 * A position after a line: the run, the time of the line's last frame (seconds since the epoch, and nanoseconds), and
 * the number of frames with this time that were read.
 */
interface Place {
  readonly run: number;
  readonly seconds: number;
  readonly nanoseconds: number;
  readonly count: number;
}

/** The place before the first line of a run. */
const noPlace = { seconds: 0, nanoseconds: 0, count: 0 };

function placeOf(cursor: LogCursor | undefined): Place | undefined {
  const [run, seconds, nanoseconds, count] = cursor ?? [];
  if (
    run === undefined ||
    seconds === undefined ||
    nanoseconds === undefined ||
    count === undefined
  )
    return undefined;
  return { run, seconds, nanoseconds, count };
}

/** A time in the engine's form: seconds and nine digits. */
function engineTime(seconds: number, nanoseconds: number): string {
  return `${seconds}.${String(nanoseconds).padStart(9, '0')}`;
}

interface Stamp {
  readonly seconds: number;
  readonly nanoseconds: number;
}

/** Splits a frame `2026-01-01T00:00:00.123456789Z text`. A frame without a time is all text, with the stamp 0. */
function stampOf(frame: Buffer): { readonly stamp: Stamp; readonly text: Buffer } {
  const space = frame.indexOf(0x20);
  const word = frame.subarray(0, Math.max(0, space)).toString('latin1');
  const [, whole = '', fraction = '0', zone = ''] =
    /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(word) ?? [];
  const ms = Date.parse(`${whole}${zone}`);
  if (!Number.isFinite(ms)) return { stamp: { seconds: 0, nanoseconds: 0 }, text: frame };
  const stamp = { seconds: ms / 1_000, nanoseconds: Number(fraction.padEnd(9, '0')) };
  return { stamp, text: frame.subarray(space + 1) };
}

/** Assembles the pieces of a log into lines, each with the position after it. */
class LineReader {
  readonly #run: number;
  #skip: Place | undefined;
  #last: Stamp = { seconds: 0, nanoseconds: 0 };
  #count = 0;
  #frame: Buffer[] = [];
  readonly #open = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };

  constructor(run: number, after: Place | undefined) {
    this.#run = run;
    this.#skip = after;
  }

  /** The position at which to continue. */
  get place(): Place {
    return { run: this.#run, ...this.#last, count: this.#count };
  }

  *take({ stream, data, endsFrame }: StreamPiece): Generator<LogLine> {
    this.#frame.push(data);
    if (!endsFrame) return;
    const { stamp, text } = stampOf(Buffer.concat(this.#frame));
    this.#frame = [];
    const same =
      stamp.seconds === this.#last.seconds && stamp.nanoseconds === this.#last.nanoseconds;
    this.#count = same ? this.#count + 1 : 1;
    this.#last = stamp;
    const skip = this.#skip;
    if (skip && stamp.seconds === skip.seconds && stamp.nanoseconds === skip.nanoseconds) {
      if (this.#count <= skip.count) return;
    } else this.#skip = undefined;
    let rest = Buffer.concat([this.#open[stream], text]);
    for (;;) {
      const end = rest.indexOf(0x0a);
      if (end < 0 && rest.length < lineBytesMax) break;
      const cut = end >= 0 && end <= lineBytesMax ? end : lineBytesMax;
      yield this.#line(rest.subarray(0, cut));
      rest = rest.subarray(end === cut ? cut + 1 : cut);
    }
    this.#open[stream] = Buffer.from(rest);
  }

  /** Yields the rest of each stream that does not end with a line break. */
  *end(): Generator<LogLine> {
    for (const stream of ['stdout', 'stderr'] as const) {
      if (this.#open[stream].length > 0) yield this.#line(this.#open[stream]);
      this.#open[stream] = Buffer.alloc(0);
    }
  }

  #line(bytes: Buffer): LogLine {
    const { run, seconds, nanoseconds, count } = this.place;
    const cursor = [run, seconds, nanoseconds, count];
    const content = bytes.toString('utf8');
    if (seconds === 0) return { content, cursor };
    const whole = new Date(seconds * 1_000).toISOString().slice(0, -'.000Z'.length);
    return { content, cursor, time: `${whole}.${String(nanoseconds).padStart(9, '0')}Z` };
  }
}

/** Dependencies of {@link readContainerLog}. */
export interface ContainerLogOptions {
  readonly containers: EngineContainers;
  /** Containers whose logs are kept, the earlier run first. */
  readonly runs: () => Promise<readonly LoggedRun[]>;
  /** The line that reports lost output of an ended container; undefined if no output was lost. */
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
      const isAway = isEngineError(error, 'Unreachable', 'Broken', 'Timeout', 'NotFound', 'Failed');
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
      // A follower may miss the last frames of a container, so the log is read once more after its end.
      if (this.#request.follow && logged === runs.at(-1)) yield* this.#read(logged, true);
      yield* this.#read(logged, false);
      yield* this.#gap(logged);
      // The position also moves past a run without output.
      if (this.#place?.run !== run) this.#place = { run, seconds: 0, nanoseconds: 0, count: 0 };
    }
  }

  /**
   * Yields the line that reports lost output, once a run. A reader that resumes at this position has received it
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

  async *#read({ run, container }: LoggedRun, follow: boolean): AsyncGenerator<LogLine> {
    const { since, until, signal } = this.#request;
    const here = this.#place?.run === run && this.#place.seconds > 0 ? this.#place : undefined;
    const reader = new LineReader(run, here);
    const limit = this.#place?.run === run ? undefined : this.#limits?.get(run);
    const query: LogQuery = {
      follow,
      ...(here ? { since: engineTime(here.seconds, here.nanoseconds) } : sinceOf(since)),
      ...(limit !== undefined && { tail: limit }),
      ...untilOf(until),
    };
    for await (const piece of this.#options.containers.logs(container, query, signal))
      for (const line of reader.take(piece)) yield this.#passed(line);
    if (!follow) for (const line of reader.end()) yield this.#passed(line);
  }

  #passed(line: LogLine): LogLine {
    this.#place = placeOf(line.cursor);
    return line;
  }
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
    for await (const _line of readRun(containers, logged, query, signal)) lines += 1;
    left = Math.max(0, left - lines);
  }
  return limits;
}
