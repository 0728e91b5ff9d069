import type { LogCursor, LogLine } from '../runtime/log.js';
import type { StreamPiece } from './engine/stream-frames.js';

/**
 * The engine stores a longer line in parts of this size and a shorter last part, which may be empty. Docker 20.10 returns
 * also the last part without a line break.
 */
const partBytes = 16 * 1024;
/** Maximum bytes of a line. A longer line is split, so that the memory of an unfinished line is bounded. */
const lineBytesMax = 64 * 1024;

/**
 * The engine may store frames of the two streams of a container in another order than that of their times. Such times
 * differ by less than this.
 */
export const disorderSeconds = 1;
const removedLine =
  '[kedge] the engine removed output before it was read; output before this line is missing';
/** Maximum number of frames that are held back. */
const earlyMax = 10_000;
/** Maximum number of times whose frames are counted. Frames with one time are close to each other. */
const countedTimesMax = 1_000;

/**
 * A position after a line: the run, the time of the line's last frame (seconds since the epoch, and nanoseconds), and
 * the number of frames with this time that were read.
 */
export interface Place {
  readonly run: number;
  readonly seconds: number;
  readonly nanoseconds: number;
  readonly count: number;
}

/** The place of a cursor; undefined for a cursor of another runtime. */
export function placeOf(cursor: LogCursor | undefined): Place | undefined {
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

function keyOf({ seconds, nanoseconds }: Stamp): string {
  return `${seconds}.${nanoseconds}`;
}

function compare(a: Stamp, b: Stamp): number {
  return a.seconds - b.seconds || a.nanoseconds - b.nanoseconds;
}

/** A frame much later than the place was read before the frame of the place, which may come later or be removed. */
export class PlacePassed extends Error {
  override readonly name = 'PlacePassed';
}

/**
 * Frames were read before. At the rotation of a followed log, Docker 20.10 may send the first frames of the new file
 * twice.
 */
export class FramesResent extends Error {
  override readonly name = 'FramesResent';
}

/** Counts the frames until that of a place. */
export class PlaceFinder {
  readonly #place: Place;
  #frame: Buffer[] = [];
  #frames = 0;
  #count = 0;

  constructor(place: Place) {
    this.#place = place;
  }

  /** The number of frames until that of the place, once its end was taken; undefined before. */
  take({ data, endsFrame }: StreamPiece): number | undefined {
    this.#frame.push(data);
    if (!endsFrame) return undefined;
    const { stamp } = stampOf(Buffer.concat(this.#frame));
    this.#frame = [];
    this.#frames += 1;
    if (compare(stamp, this.#place) === 0) this.#count += 1;
    return this.#count === this.#place.count ? this.#frames : undefined;
  }
}

const noStamp: Stamp = { seconds: 0, nanoseconds: 0 };

interface Frame {
  readonly stream: StreamPiece['stream'];
  readonly stamp: Stamp;
  readonly text: Buffer;
}

/** Assembles the pieces of a log into lines, each with the position after it. */
export class LineReader {
  readonly #run: number;
  readonly #isFollowed: boolean;
  /** The place of the last frame to skip; undefined once it was found, or is no longer kept. */
  #after: Place | undefined;
  /** The number of frames until that of the place, 0 if it is no longer kept; undefined if that is not known. */
  readonly #framesUntil: number | undefined;
  #frames = 0;
  /** Frames with a later time than this place: they are skipped if its frame comes after them. */
  readonly #early: Frame[] = [];
  #last = noStamp;
  #count = 0;
  /**
   * The numbers of frames by time, the first time first. The parts of a long line have the time of its first part, and
   * frames of the other stream may be between them.
   */
  readonly #counts = new Map<string, number>();
  /** The time of the last frame of each stream, whose frames are in the order of their times. */
  readonly #lastOf = { stdout: noStamp, stderr: noStamp };
  #frame: Buffer[] = [];
  readonly #open = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  /** Whether a frame of the stream was not skipped. */
  readonly #isRead = { stdout: false, stderr: false };

  /**
   * @param after the place after which to begin, in a log that is read from {@link disorderSeconds} before it
   * @param framesUntil the number of frames until that of the place, 0 if it is no longer kept. Without it,
   * {@link take} throws PlacePassed, before its first line, if the order of the times is not enough to find the place
   * @param options isFollowed: {@link take} throws FramesResent for a frame that was read already
   */
  constructor(
    run: number,
    after: Place | undefined,
    framesUntil?: number,
    { isFollowed = false }: { readonly isFollowed?: boolean } = {},
  ) {
    this.#isFollowed = isFollowed;
    this.#run = run;
    this.#after = after;
    this.#framesUntil = framesUntil;
  }

  *take({ stream, data, endsFrame }: StreamPiece): Generator<LogLine> {
    this.#frame.push(data);
    if (!endsFrame) return;
    const frame = { stream, ...stampOf(Buffer.concat(this.#frame)) };
    this.#frame = [];
    this.#frames += 1;
    if (this.#skips(frame)) return;
    if (this.#after && this.#framesUntil === undefined) throw new PlacePassed();
    if (this.#after) yield* this.#heldBack(this.#after);
    if (this.#isFollowed && this.#wasRead(frame)) throw new FramesResent();
    yield* this.#lines(frame);
  }

  /** Yields what was held back, and the rest of each stream that does not end with a line break and is not skipped. */
  *end(): Generator<LogLine> {
    if (this.#after && this.#early.length > 0) yield* this.#heldBack(this.#after);
    for (const stream of ['stdout', 'stderr'] as const) {
      if (this.#isRead[stream] && this.#open[stream].length > 0)
        yield this.#line(this.#open[stream]);
      this.#open[stream] = Buffer.alloc(0);
    }
  }

  #skips(frame: Frame): boolean {
    const after = this.#after;
    if (!after) return false;
    const { seconds } = frame.stamp;
    const order = compare(frame.stamp, after);
    // The clock was set back before the place, or the other stream is far behind: the times do not say what was read.
    const isBefore = this.#frames < (this.#framesUntil ?? 0);
    if (isBefore || order <= 0) {
      // A skipped frame may have the first part of a line that ends after the place.
      const { length } = this.#complete(frame);
      if (isBefore || order < 0 || this.#count < after.count) return true;
      this.#after = undefined;
      // The place is after an unfinished line: its first part was read already.
      if (length === 0) this.#open[frame.stream] = Buffer.alloc(0);
      for (const early of this.#early.splice(0)) this.#complete(early);
      return true;
    }
    if (seconds > after.seconds + disorderSeconds || this.#early.length >= earlyMax) return false;
    this.#early.push(frame);
    return true;
  }

  /** Yields the frames after a place that is no longer kept, after a line that says so. */
  *#heldBack({ run, seconds, nanoseconds, count }: Place): Generator<LogLine> {
    this.#after = undefined;
    yield { content: removedLine, cursor: [run, seconds, nanoseconds, count] };
    for (const frame of this.#early.splice(0)) yield* this.#lines(frame);
  }

  /** Whether a frame was read already. A clock that is set back gives times that were not read. */
  #wasRead({ stream, stamp }: Frame): boolean {
    const order = compare(stamp, this.#lastOf[stream]);
    // The parts of a line have one time.
    const isNext = order > 0 || (order === 0 && this.#open[stream].length > 0);
    return !isNext && this.#counts.has(keyOf(stamp));
  }

  #noteStamp({ stream, stamp }: Frame): void {
    const key = keyOf(stamp);
    this.#lastOf[stream] = stamp;
    this.#count = (this.#counts.get(key) ?? 0) + 1;
    this.#last = stamp;
    this.#counts.set(key, this.#count);
    if (this.#counts.size <= countedTimesMax) return;
    for (const first of this.#counts.keys()) {
      this.#counts.delete(first);
      break;
    }
  }

  *#lines(frame: Frame): Generator<LogLine> {
    this.#isRead[frame.stream] = true;
    for (const bytes of this.#complete(frame)) yield this.#line(bytes);
  }

  /** The lines that a frame completes. */
  #complete(frame: Frame): readonly Buffer[] {
    const { stream, text } = frame;
    this.#noteStamp(frame);
    const complete: Buffer[] = [];
    let rest = Buffer.concat([this.#open[stream], text]);
    for (;;) {
      const end = rest.indexOf(0x0a);
      if (end < 0 && rest.length < lineBytesMax) break;
      const cut = end >= 0 && end <= lineBytesMax ? end : lineBytesMax;
      complete.push(rest.subarray(0, cut));
      rest = rest.subarray(end === cut ? cut + 1 : cut);
    }
    const endsLine = text.at(-1) !== 0x0a && text.length < partBytes;
    if (endsLine && rest.length > 0) complete.push(rest);
    this.#open[stream] = endsLine ? Buffer.alloc(0) : Buffer.from(rest);
    return complete;
  }

  #line(bytes: Buffer): LogLine {
    const { seconds, nanoseconds } = this.#last;
    const cursor = [this.#run, seconds, nanoseconds, this.#count];
    const content = bytes.toString('utf8');
    if (seconds === 0) return { content, cursor };
    const whole = new Date(seconds * 1_000).toISOString().slice(0, -'.000Z'.length);
    return { content, cursor, time: `${whole}.${String(nanoseconds).padStart(9, '0')}Z` };
  }
}
