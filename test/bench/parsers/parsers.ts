import { seededRandom } from 'kedge';
import { ValidatedApi } from '../../admission/validated-api.js';
import { hostileInput } from './hostile-text.js';
import type { BenchOptions, Measurement } from '../measuring/measurement.js';
import { withDirectory } from '../measuring/objects.js';
import { apiSurfaces, castSurface, type Surface } from './parsed-surfaces.js';
import { holdsOfLongRequests } from './long-requests.js';
import { watchSlices } from '../measuring/slices.js';

/** CPU time above which a doubling can be distinguished from noise, milliseconds. */
const measurableMs = 5;
const seed = Number(process.env.KEDGE_PARSERS_SEED ?? 200);

async function cpuMs(work: () => Promise<unknown>, runs: number): Promise<number> {
  let least = Infinity;
  for (let run = 0; run < runs; run += 1) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}

/** The largest growth of the time from n to 2n and from 2n to 4n; undefined if every allowed n is too fast. */
async function rise(
  surface: Surface,
  make: (length: number) => string,
  repeats: number,
): Promise<number | undefined> {
  const cost = (length: number, runs: number): Promise<number> => {
    return cpuMs(surface.prepare(make(length)), runs);
  };
  const most = surface.charactersMax;
  let length = Math.min(4_096, most / 4);
  while (length * 4 < most && (await cost(length, 1)) < measurableMs) length *= 2;
  if (length * 4 > most) length = most / 4;
  if ((await cost(length * 4, 1)) < measurableMs) return undefined;
  const rises = async (runs: number): Promise<number> => {
    const [once, twice, four] = [
      await cost(length, runs),
      await cost(length * 2, runs),
      await cost(length * 4, runs),
    ];
    // A time too short to measure counts as half the measurable time.
    const least = measurableMs / 2;
    return Math.max(Math.max(twice, least) / Math.max(once, least), four / Math.max(twice, least));
  };
  // Noise only adds time: an apparently superlinear growth is measured again, longer.
  let found = await rises(repeats === 0 ? 1 : 2);
  for (let again = 0; again < repeats && found > 2.5; again += 1)
    found = Math.min(found, await rises(5));
  return found;
}

async function measure(
  surface: Surface,
  inputs: number,
  quick: boolean,
): Promise<readonly Measurement[]> {
  const random = seededRandom(seed);
  let steepest = 0;
  let longest = 0;
  let measured = 0;
  let worst = { rise: '', hold: '' };
  for (let n = 0; n < inputs; n += 1) {
    const { shape, make } = hostileInput(random, surface.tokens);
    const found = await rise(surface, make, quick ? 0 : 3);
    if (found !== undefined) measured += 1;
    if (found !== undefined && found > steepest) {
      steepest = found;
      worst = { ...worst, rise: shape };
    }
    if (!surface.served) continue;
    const read = surface.prepare(make(surface.charactersMax));
    let hold = (await watchSlices(read)).longestWorkMs;
    for (let again = 0; again < (quick ? 0 : 2) && hold > 50; again += 1)
      hold = Math.min(hold, (await watchSlices(read)).longestWorkMs);
    if (hold > longest) {
      longest = hold;
      worst = { ...worst, hold: shape };
    }
  }
  if (!quick)
    console.error(
      `${surface.name}: ${inputs} inputs, ${measured} of them take ${measurableMs} ms at some allowed length; steepest ${worst.rise}, longest ${worst.hold}`,
    );
  const rising: Measurement[] = [
    {
      name: `parsers, ${surface.name}: CPU time of twice the input`,
      value: steepest,
      unit: 'times',
      ratio: steepest,
      better: 'lower',
      gate: 2.5,
    },
  ];
  if (!surface.served) return rising;
  return [
    ...rising,
    {
      name: `parsers, ${surface.name}: longest hold of the event loop`,
      value: longest,
      unit: 'ms',
      ratio: longest,
      better: 'lower',
      gate: 50,
    },
  ];
}

/**
 * Growing hostile inputs from the grammars of all parsers of external text: CPU time at n, 2n and 4n with n
 * large enough to measure, and the longest time without a turn of the event loop at the largest input that the
 * transport accepts. KEDGE_PARSERS_SEED chooses other inputs, KEDGE_PARSERS_INPUTS their number for each
 * surface, KEDGE_PARSERS_ONLY one surface, or `cast` for the long requests.
 */
export async function run({ quick }: BenchOptions): Promise<readonly Measurement[]> {
  return withDirectory(async (directory) => {
    await using api = await ValidatedApi.start();
    const { surfaces, close } = apiSurfaces(api);
    const measurements: Measurement[] = [];
    const only = process.env.KEDGE_PARSERS_ONLY;
    for (const surface of [...surfaces, await castSurface(directory)])
      if (only === undefined || only === surface.name)
        measurements.push(
          ...(await measure(
            surface,
            quick ? 1 : Number(process.env.KEDGE_PARSERS_INPUTS ?? 200),
            quick,
          )),
        );
    close();
    if (only === undefined || only === 'cast')
      measurements.push(...(await holdsOfLongRequests(api, quick ? 1 : 5)));
    return measurements;
  });
}
