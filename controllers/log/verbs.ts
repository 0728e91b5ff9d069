import { type Clock, invalid, notFound, type ObjectStore, StatusError } from 'kedge';
import { type JsonObject, textOf } from 'kedge/rpc';
import type { ApiParts, CallContext, CustomMethod } from 'kedge/server';
import type { LogCursor, LogLine } from '../agent/index.js';
import { merge } from '../agent/logs/merge.js';
import { type Instance, instances } from '../instance/kind.js';
import { services } from '../service/kind.js';
import { inOrderOfTime } from './by-time.js';
import { followedInstances } from './followed-instance.js';
import { logOf, type LogSources, previousOf, type SourcedLine } from './log-sources.js';

/**
 * Returns the instance of that name, otherwise all instances of the service of that name, which may be none.
 * @throws StatusError NotFound if there is neither
 */
async function targets(parts: ApiParts, request: JsonObject): Promise<readonly Instance[]> {
  const namespace = String(request.namespace);
  const name = String(request.name);
  const instance = await parts.store.get(instances, { namespace, name });
  if (instance) return [instance];
  const service = await parts.store.get(services, { namespace, name });
  if (!service) throw notFound({ kind: 'Instance or Service', namespace, name });
  const { items } = await parts.store.list(instances, { namespace });
  return items.filter((item) => item.service === name);
}

/**
 * Positions in the logs of several instances, by uid: an empty one before the first line. A reader that resumes has none
 * for an instance that was created meanwhile.
 */
type Positions = Map<string, LogCursor>;

/** Maximum numbers of a cursor: no runtime uses more. */
const cursorNumbersMax = 8;

function encodePositions(positions: Positions): string {
  const entries = [...positions].map(([uid, cursor]) => [uid, ...cursor]);
  return Buffer.from(JSON.stringify(entries)).toString('base64url');
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function decodePositions(text: string): Positions {
  try {
    const parsed = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown;
    if (!Array.isArray(parsed)) throw new TypeError('no list');
    return new Map(
      parsed.map((entry: unknown) => {
        const [uid, ...cursor] = Array.isArray(entry) ? (entry as readonly unknown[]) : [];
        if (typeof uid !== 'string' || cursor.length > cursorNumbersMax || !cursor.every(isCount))
          throw new TypeError('no position');
        return [uid, cursor];
      }),
    );
  } catch {
    throw invalid([
      {
        field: 'after',
        description: `${JSON.stringify(text.slice(0, 80))} is not the position of a line; omit it to read from the beginning`,
      },
    ]);
  }
}

const units: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** The time before `now` by a duration such as 5m; undefined for none. */
function agoOf(field: 'since' | 'until', text: string, now: number): number | undefined {
  if (text === '') return undefined;
  const [, count = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * (units[unit] ?? Number.NaN);
  if (ms > 0) return now - ms;
  throw invalid([
    {
      field,
      description: `${JSON.stringify(text)} must be a time such as 30s, 5m, 2h or 1d`,
    },
  ]);
}

interface Reading {
  readonly since: number | undefined;
  readonly until: number | undefined;
  readonly options: LogSources;
  readonly request: JsonObject;
  readonly positions: Positions;
  readonly signal: AbortSignal;
  readonly store: ObjectStore;
  readonly clock: Clock;
  /** Whether only one instance is read. */
  readonly single: boolean;
}

interface InstanceLine<T extends SourcedLine = SourcedLine> {
  readonly instance: Instance;
  readonly line: T;
}

function timeOf({ line }: InstanceLine): string {
  return 'remark' in line ? '' : (line.time ?? '');
}

/** The lines of an instance; with `follow`, also those of the ones that replace it. */
async function* linesOf(reading: Reading, instance: Instance): AsyncIterable<InstanceLine> {
  const { request, until, positions } = reading;
  // All lines of an instance that was created since the position of a reader that resumes are new.
  const isNew = !positions.has(instance.metadata.uid);
  const tail = typeof request.tail === 'number' && !isNew ? request.tail : 0;
  if (request.follow !== true) {
    // The runtime counts lines from the end of the log.
    const isCounted = until === undefined;
    const lines = linesOfOne(reading, instance, isCounted ? tail : 0, reading.signal);
    for await (const line of lastOf(lines, isCounted ? 0 : tail)) yield { instance, line };
    return;
  }
  const read = (one: Instance, signal: AbortSignal): AsyncIterable<SourcedLine> =>
    linesOfOne(reading, one, one === instance ? tail : 0, signal);
  for await (const each of followedInstances(reading, instance, read))
    yield { instance: each.instance, line: 'remark' in each ? each : each.item };
}

/** The lines of one instance after its position, if it has one, until the signal aborts. */
function linesOfOne(
  { options, clock, request, positions, since, until, single }: Reading,
  instance: Instance,
  tail: number,
  signal: AbortSignal,
): AsyncIterable<SourcedLine> {
  const known = positions.get(instance.metadata.uid);
  const after = known && known.length > 0 ? known : undefined;
  const range = { tail, follow: request.follow === true, signal, after, since, until };
  // A reader that resumes waits for an agent that is not connected yet, for example after a restart of the daemon.
  return logOf(options, instance, {
    ...{ request: range, clock },
    fails: single && after === undefined,
  });
}

/**
 * The answers for lines. The position of an answer includes the lines up to this one only: a source may have been read
 * further.
 */
async function* answersOf(
  lines: AsyncIterable<InstanceLine>,
  positions: Positions,
): AsyncIterable<JsonObject> {
  for await (const each of lines) {
    const { instance, line } = each;
    const isRemark = 'remark' in line;
    if (!isRemark) positions.set(instance.metadata.uid, line.cursor);
    yield {
      instance: instance.name,
      content: isRemark ? `[kedge] ${line.remark}` : line.content,
      position: encodePositions(positions),
      time: timeOf(each),
    };
  }
}

/** Checks that none of the fields is set together with `other`. @throws StatusError InvalidArgument */
function refuseWith(other: string, fields: readonly string[], request: JsonObject): void {
  const refused = fields.filter((field) => request[field]);
  if (refused.length === 0) return;
  const description = `can't be combined with ${other}; omit it`;
  throw invalid(refused.map((field) => ({ field, description })));
}

/** Lines of the previous runs of the instances, in the order of their times. */
async function* previousLines(
  { options, request, signal }: Pick<Reading, 'options' | 'request' | 'signal'>,
  found: readonly Instance[],
): AsyncIterable<JsonObject> {
  refuseWith('previous', ['follow', 'after', 'since', 'until'], request);
  const tail = typeof request.tail === 'number' ? request.tail : 0;
  let earlier = false;
  const linesOfOne = async function* (instance: Instance): AsyncIterable<InstanceLine<LogLine>> {
    const previous = await previousOf(options, instance, signal);
    if (!previous) return;
    earlier = true;
    for await (const line of lastOf(previous, tail)) yield { instance, line };
  };
  for await (const { instance, line } of inOrderOfTime(found.map(linesOfOne), timeOf))
    yield { instance: instance.name, content: line.content, position: '', time: line.time ?? '' };
  if (!earlier)
    throw new StatusError({
      code: 'NotFound',
      reason: 'NoPreviousRun',
      message: `${String(request.name)} has no previous run, or its output is not separated from the current run; omit previous`,
    });
}

async function* logs(
  parts: ApiParts,
  options: LogSources,
  { signal }: CallContext,
  request: JsonObject,
): AsyncIterable<JsonObject> {
  const after = textOf(request, 'after');
  const reached = after === '' ? undefined : decodePositions(after);
  const found = await targets(parts, request);
  const positions: Positions = reached ?? new Map(found.map(({ metadata }) => [metadata.uid, []]));
  if (request.previous === true) {
    yield* previousLines({ options, request, signal }, found);
    return;
  }
  const now = parts.clock.now();
  const since = agoOf('since', textOf(request, 'since'), now);
  const until = agoOf('until', textOf(request, 'until'), now);
  if (until !== undefined) refuseWith('until', ['follow', 'after'], request);
  const reading = {
    ...{ options, request, positions, since, until, signal },
    ...{ store: parts.store, clock: parts.clock, single: found.length === 1 },
  };
  const sources = found.map((instance) => linesOf(reading, instance));
  const follow = request.follow === true;
  yield* answersOf(follow ? merge(sources) : inOrderOfTime(sources, timeOf), positions);
  // A caller that left does not receive this error. Another one continues with the next daemon.
  if (follow && signal.aborted)
    throw new StatusError({
      code: 'Unavailable',
      reason: 'Stopping',
      message: 'kedged is being stopped; follow the log again after the start of kedged',
    });
}

/** The last lines; all if `tail` is 0. */
async function* lastOf<T>(lines: AsyncIterable<T>, tail: number): AsyncIterable<T> {
  if (tail === 0) {
    yield* lines;
    return;
  }
  const last: T[] = [];
  for await (const line of lines) {
    last.push(line);
    if (last.length > tail) last.shift();
  }
  yield* last;
}

/** `LogService.Get`: output of an instance or of a service. */
export function logVerbs(parts: ApiParts, options: LogSources): readonly CustomMethod[] {
  return [
    {
      id: 'LogService.Get',
      access: { type: 'policy', resource: 'logs', verb: 'get', scope: 'Namespaced' },
      handler: {
        type: 'stream',
        call: (context, request) => logs(parts, options, context, request),
      },
    },
  ];
}
