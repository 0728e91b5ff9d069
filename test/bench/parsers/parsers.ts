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

/** Largest rise of the time from n to 2n that is not measured again. */
const riseMax = 2.5;

type Make = (length: number) => string;

async function cpuMs(work: () => Promise<unknown>, runs: number): Promise<number> {
  let least = Infinity;
  for (let run = 0; run < runs; run += 1) {
    // Else threads of the collector, whose time counts, collect the garbage of earlier inputs meanwhile.
    global.gc?.({ type: 'minor' });
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}

/** The largest growth of the time from n to 2n and from 2n to 4n; undefined if every allowed n is too fast. */
async function rise(surface: Surface, make: Make, repeats: number): Promise<number | undefined> {
  const cost = (length: number, runs: number): Promise<number> => {
    return cpuMs(surface.prepare(make(length)), runs);
  };
  const most = surface.charactersMax;
  let length = Math.min(4_096, most / 4);
  while (length * 4 < most && (await cost(length, 1)) < measurableMs) length *= 2;
  if (length * 4 > most) length = most / 4;
  if ((await cost(length * 4, 1)) < measurableMs) return undefined;
  // Noise only adds time. An apparently superlinear growth is measured again; the least time of each length counts.
  const least = [Infinity, Infinity, Infinity];
  let found = Infinity;
  for (let again = 0; again <= repeats && found > riseMax; again += 1) {
    for (const [n, times] of [1, 2, 4].entries())
      least[n] = Math.min(least[n] ?? Infinity, await cost(length * times, again === 0 ? 2 : 5));
    // A time too short to measure counts as half the measurable time.
    const [once = NaN, twice = NaN, four = NaN] = least.map((ms) => Math.max(ms, measurableMs / 2));
    found = Math.max(twice / once, four / twice);
  }
  return found;
}

async function measure(
  surface: Surface,
  inputs: number,
  quick: boolean,
): Promise<readonly Measurement[]> {
  const random = seededRandom(seed);
  const repeats = quick ? 0 : 8;
  const rises: { readonly shape: string; readonly make: Make; readonly found: number }[] = [];
  let steepest = 0;
  let longest = 0;
  let measured = 0;
  let worst = { rise: '', hold: '' };
  for (let n = 0; n < inputs; n += 1) {
    const { shape, make } = hostileInput(random, surface.tokens);
    const found = await rise(surface, make, repeats);
    if (found !== undefined) {
      measured += 1;
      rises.push({ shape, make, found });
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
  for (const { shape, make, found } of rises) {
    // Other load of the machine may last as long as all measurements of an input, and have ended since.
    const again = !quick && found > riseMax ? await rise(surface, make, repeats) : undefined;
    const least = Math.min(found, again ?? found);
    if (least <= steepest) continue;
    steepest = least;
    worst = { ...worst, rise: shape };
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
      gate: riseMax,
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
