import { setTimeout } from 'node:timers/promises';
import type { TestDaemon } from '../../acceptance/daemon.js';
import { createServices, healthyTimes, processService, withDaemon } from './healthy-starts.js';
import { type BenchOptions, type Measurement, median } from '../measuring/measurement.js';
import { type CoreShare, coreShare } from '../measuring/process-time.js';
import { until } from '../measuring/until.js';

interface Phase {
  readonly share: CoreShare;
  readonly seconds: number;
  readonly starts: readonly number[];
  readonly restarts: number;
}

async function restartCounts(daemon: TestDaemon): Promise<readonly number[]> {
  const found = await daemon.list('/v1/namespaces/default/instances?limit=1000');
  return found.map(({ restartCount }) => Number(restartCount ?? 0));
}

async function restartsOf(daemon: TestDaemon): Promise<number> {
  return (await restartCounts(daemon)).reduce((sum, count) => sum + count, 0);
}

async function fewestRestarts(daemon: TestDaemon): Promise<number> {
  return Math.min(...(await restartCounts(daemon)));
}

/** One phase of `ms`: the daemon's usage, and the start time of healthy services in it. */
async function phase(
  daemon: TestDaemon,
  name: string,
  { ms, starts, begin }: { ms: number; starts: number; begin?: () => Promise<void> },
): Promise<Phase> {
  const [before, startedAt] = [await restartsOf(daemon), performance.now()];
  let found: readonly number[] = [];
  const share = await coreShare(daemon.pid, async () => {
    const endsAt = performance.now() + ms;
    await begin?.();
    found = (await healthyTimes(daemon, name, starts)).starts;
    await setTimeout(Math.max(0, endsAt - performance.now()));
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  return { share, seconds, starts: found, restarts: (await restartsOf(daemon)) - before };
}

/**
 * Processes that exit with 1 as soon as they run. The wait before a restart doubles from 1 s to 300 s. Restarts
 * take turns, so the first minute has fewer than the six of each that the waits allow. Once each has restarted
 * six times, the next 64 s have about one of each. Later phases have fewer. KEDGE_CRASH_LOOPS replaces the
 * number of 300 processes, for a machine that is too busy for so many restarts.
 */
export async function run({ quick }: BenchOptions): Promise<readonly Measurement[]> {
  const count = quick ? 5 : Number(process.env.KEDGE_CRASH_LOOPS ?? 300);
  const starts = quick ? 1 : 5;
  return withDaemon(async (daemon) => {
    const idle = await phase(daemon, 'before', { ms: quick ? 500 : 20_000, starts });
    const crashing = Array.from({ length: count }, (_, n) => processService(`c${n}`, 'exit 1', 1));
    const first = await phase(daemon, 'among', {
      ms: quick ? 2_000 : 60_000,
      starts,
      begin: () => createServices(daemon, crashing),
    });
    // Each has restarted six times, so the next wait of each is a minute or longer.
    const restarts = quick ? 1 : 6;
    await until('waits of a minute', async () => (await fewestRestarts(daemon)) >= restarts);
    const later = await phase(daemon, 'later', { ms: quick ? 2_000 : 64_000, starts });
    // On a loaded machine there are fewer restarts than the waits allow, so the cost of all must be derived from the
    // cost of one.
    if (!quick && later.restarts < count)
      console.error(`the share covers only ${later.restarts} restarts of the expected ${count}`);
    const rows = ([at, phase]: readonly [string, Phase]) => {
      const { share, starts: seconds, restarts } = phase;
      const what = `${count} crash loops, ${at}, ${restarts} restarts`;
      const cost = (name: string, value: number, baseline: number): Measurement => ({
        name: `${what}: ${name}`,
        value,
        unit: '% of a core',
        baseline: { what: 'the daemon before', value: baseline },
        ratio: value,
        better: 'lower',
      });
      const each = (name: string, percent: number): Measurement => {
        const ms = (percent * phase.seconds * 10) / Math.max(1, restarts);
        return { name: `${what}: ${name}`, value: ms, unit: 'ms', ratio: ms, better: 'lower' };
      };
      const [value, usual] = [median(seconds), median(idle.starts)];
      return [
        cost('daemon', share.own, idle.share.own),
        cost('with supervisors and processes', share.withChildren, idle.share.withChildren),
        each('a restart, time of the daemon', share.own - idle.share.own),
        each(
          'a restart, with its supervisor and process',
          share.withChildren - idle.share.withChildren,
        ),
        {
          name: `${what}: delay of a healthy start`,
          value,
          unit: 's',
          baseline: { what: 'a start before', value: usual },
          ratio: value - usual,
          better: 'lower',
          gate: 1,
        },
      ] satisfies Measurement[];
    };
    return [
      ...rows(['first minute', first]),
      ...rows(['waits of a minute', later]).map((row, at) =>
        at === 0 ? { ...row, gate: 10 } : row,
      ),
    ];
  });
}
