import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { benchmarks } from './benchmarks.js';
import { type Measurement, meets } from './measuring/measurement.js';

const usage = `usage: npm run bench -- [--quick] [--gate] [NAME...]
  --quick  a smoke test: everything runs, the figures mean nothing
  --gate   exit 1 when a figure misses its gate
  --profile FOLDER
           api-etcd: write the daemon's profiles and their flame graphs there
  NAME     ${Object.keys(benchmarks).join(', ')}; default all`;

async function runOne(name: string, quick: boolean): Promise<void> {
  const benchmark = await benchmarks[name]?.();
  if (!benchmark) throw new Error(`no benchmark "${name}"\n${usage}`);
  for (const measurement of await benchmark.run({ quick }))
    console.log(JSON.stringify(measurement));
}

/** Runs a benchmark in a separate process, so that the heap of one does not slow the next. */
function runApart(name: string, quick: boolean): readonly Measurement[] {
  const args = ['--expose-gc', fileURLToPath(import.meta.url), '--one', name];
  const { stdout, status } = spawnSync(process.execPath, quick ? [...args, '--quick'] : args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 26,
  });
  if (status !== 0) throw new Error(`benchmark ${name} ended with status ${status}`);
  process.stdout.write(stdout);
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Measurement);
}

function number(value: number): string {
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}

function row(m: Measurement): readonly string[] {
  const verdict =
    m.gate === undefined
      ? ''
      : !meets(m, m.gate)
        ? 'MISSED'
        : m.goal !== undefined && meets(m, m.goal)
          ? 'goal'
          : 'gate';
  return [
    m.name,
    `${number(m.value)} ${m.unit}`,
    m.baseline ? number(m.baseline.value) : '',
    number(m.ratio),
    m.spread ? `${number(m.spread[0])}..${number(m.spread[1])}` : '',
    m.gate === undefined ? '' : String(m.gate),
    m.goal === undefined ? '' : String(m.goal),
    verdict,
  ];
}

function table(measurements: readonly Measurement[]): string {
  const head = ['BENCHMARK', 'VALUE', 'BASELINE', 'FIGURE', 'SPREAD', 'GATE', 'GOAL', 'MEETS'];
  const rows = [head, ...measurements.map(row)];
  const widths = head.map((_, at) => Math.max(...rows.map((cells) => cells[at]?.length ?? 0)));
  return rows
    .map((cells) =>
      cells
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const args = process.argv.slice(2);
const quick = args.includes('--quick');
const profileAt = args.indexOf('--profile');
if (profileAt >= 0) process.env['KEDGE_BENCH_PROFILE'] = args.splice(profileAt, 2)[1];
const names = args.filter((arg) => !arg.startsWith('--'));
if (args.includes('--help')) {
  console.log(usage);
} else if (args.includes('--one')) {
  await runOne(names[0] ?? '', quick);
} else {
  const chosen = names.length > 0 ? names : Object.keys(benchmarks);
  const measurements = chosen.flatMap((name) => runApart(name, quick));
  console.log(`\n${table(measurements)}`);
  const missed = measurements.filter((m) => m.gate !== undefined && !meets(m, m.gate));
  if (args.includes('--gate') && missed.length > 0) process.exitCode = 1;
}
