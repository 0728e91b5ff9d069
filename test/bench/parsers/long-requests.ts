import type { ValidatedApi } from '../../admission/validated-api.js';
import type { Measurement } from '../measuring/measurement.js';
import { watchSlices } from '../measuring/slices.js';
import { type Read, Senders } from './senders.js';

/** Objects and entries of a cast: the maximum of objects, and nearly the maximum of values of a JSON body. */
const objects = 1_000;
const entries = 55;
/** Each entry of a Struct is an entry and a value: nearly the maximum of items of a message. */
const structEntries = 28;
/** Entries of one object: nearly the maximum of values, and more than an object may have. */
const manyEntries = 60_000;

/** A request that is long but accepted by its transport. */
interface LongRequest {
  readonly name: string;
  /** HTTP status or gRPC code. */
  readonly answer: number;
  /** @param run differs for each request, so that a cast changes every object */
  readonly prepare: (run: number) => Read;
}

function values(count: number, run: number): Readonly<Record<string, string>> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`key-${n}`, `value-${run}`]));
}

/** @param first the number of the first object */
function castOf(count: number, run: number, first: number): object {
  const item = (n: number): object => ({
    kind: 'Configmap',
    object: { name: `c-${first + n}`, namespace: 'default', data: values(count, run) },
  });
  return { objects: Array.from({ length: objects }, (_, n) => item(n)) };
}

function longRequests(senders: Senders): readonly LongRequest[] {
  const path = '/v1/namespaces/default/configmaps';
  const configmap = (run: number): object => ({ name: `m-${run}`, data: values(manyEntries, run) });
  const posted = (to: string, body: object): Read =>
    senders.rest('POST', to, {}, JSON.stringify(body));
  return [
    {
      name: `a cast of ${objects} new objects with ${entries} entries over REST`,
      answer: 200,
      prepare: (run) => posted('/v1/cast', castOf(entries, run, run * objects)),
    },
    {
      name: `a cast of ${objects} changed objects with ${entries} entries over REST`,
      answer: 200,
      prepare: (run) => posted('/v1/cast', castOf(entries, run, 0)),
    },
    {
      name: `a cast of ${objects} new objects with ${structEntries} entries over gRPC`,
      answer: 0,
      prepare: (run) =>
        senders.grpc('CastService/Cast', 'CastRequest', castOf(structEntries, run, run * objects)),
    },
    {
      name: `${manyEntries} entries of one object over REST, refused`,
      answer: 400,
      prepare: (run) => posted(path, configmap(run)),
    },
    {
      name: `${manyEntries} entries of one object over gRPC, refused`,
      answer: 3,
      prepare: (run) =>
        senders.grpc('ConfigmapService/Create', 'CreateConfigmapRequest', {
          namespace: 'default',
          configmap: configmap(run),
        }),
    },
  ];
}

/**
 * The longest holds of the event loop by requests near the limits of the transports. The first of each counts, too,
 * although it compiles code.
 */
export async function holdsOfLongRequests(
  api: ValidatedApi,
  rounds: number,
): Promise<readonly Measurement[]> {
  const senders = new Senders(api);
  const measurements: Measurement[] = [];
  let run = 1;
  for (const { name, answer, prepare } of longRequests(senders)) {
    const holds: number[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const read = prepare(run);
      run += 1;
      const { longestWorkMs } = await watchSlices(async () => {
        const got = await read();
        if (got !== answer) throw new Error(`${name}: the answer is ${got}, not ${answer}`);
      });
      holds.push(longestWorkMs);
    }
    console.log(`${name}: ${holds.map((ms) => ms.toFixed(1)).join(', ')} ms`);
    const value = Math.max(...holds);
    measurements.push({
      name: `parsers, ${name}: longest hold of the event loop`,
      value,
      unit: 'ms',
      ratio: value,
      better: 'lower',
      gate: 50,
    });
  }
  senders.close();
  return measurements;
}
