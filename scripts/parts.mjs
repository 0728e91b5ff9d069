// Runs the suites in parts, each in a separate mocha process. Starting a program forks the process, and a fork
// takes time in proportion to its memory: in one process for all suites it took 20 times as long in the end.
import { spawn } from 'node:child_process';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './steps.mjs';

/** Built test files below a folder, from the project's root. */
function specsBelow(folder) {
  return readdirSync(join(root, folder), { recursive: true })
    .filter((path) => path.endsWith('.test.js'))
    .map((path) => join(folder, path))
    .sort();
}

/** Tests beside the code, by workspace. */
export function unitParts() {
  return ['lib', 'drivers/sdk', 'drivers', 'controllers', 'cmd'].map((folder) => ({
    name: folder,
    specs: specsBelow(`${folder}/dist`),
  }));
}

/** Folders of test/ that take so long that their subfolders are separate parts. */
const split = ['acceptance', 'drivers', 'emulators'];

/**
 * Folders of test/ whose files run one after the other, each in a separate mocha process: they start thousands of
 * programs, and a start takes 10 ms of processor time in a process of 450 MB, and 0.7 ms in one of 53 MB.
 */
const apart = ['test/drivers', 'test/emulators/drivers'];

/** Tests across packages, by folder of test/. */
export function suiteParts() {
  const parts = new Map();
  for (const spec of specsBelow('test/dist')) {
    const below = spec.split('/').slice(2, -1);
    const name = ['test', ...below.slice(0, split.includes(below[0]) ? 2 : 1)].join('/');
    parts.set(name, [...(parts.get(name) ?? []), spec]);
  }
  return [...parts].map(([name, specs]) => ({ name, specs, apart: apart.includes(name) }));
}

/**
 * Timeout of a mocha run. The longest takes 17 minutes on two cores beside others, and may take more than three times
 * as long elsewhere. A run that hangs is killed, so that the others still run.
 */
const partMs = 60 * 60_000;

/**
 * Parts that take longest start first, so that none of them runs alone at the end. They took from 1,030 to 95 s on two
 * cores, beside others.
 */
const longest = [
  'test/containers',
  'test/emulators/drivers',
  'test/drivers',
  'test/acceptance/cli',
  'test/packaging',
  'test/library',
  'test/boxes',
  'test/emulators',
  'test/emulators/stories',
  'test/acceptance/data',
  'test/acceptance/nodes',
  'test/docs',
  'test/emulators/sweep',
  'test/acceptance/storage',
  'test/acceptance/api',
  'lib',
  'test/emulators/mutants',
  'test/store',
  'test/storage',
];

/** Time over which the load of the machine is measured before one more part starts, milliseconds. */
const loadMs = 5_000;
/** Share of the processors that must be idle for one more part. */
const idleMin = 0.25;
/** Share of the processors that must be idle for as many parts as before when one ends, if these are more than usual. */
const idleMinKept = 0.1;

/** Processor time of the machine so far, milliseconds. Waits for disks are not busy. */
function busyMs() {
  return cpus().reduce(
    (sum, { times }) => sum + times.user + times.nice + times.sys + times.irq,
    0,
  );
}

/**
 * Processor time of all ended child processes and of the processes that these waited for, seconds; undefined where the
 * system has no /proc. Daemons that a test leaves to the system's first process are not counted.
 */
function childSeconds() {
  let stat;
  try {
    stat = readFileSync('/proc/self/stat', 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
  // The name of the program, in parentheses, may contain spaces. Linux counts in hundredths of a second.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

/** What `childSeconds` returned when the last mocha run ended. */
let secondsBefore = childSeconds();

/** Processor time of a mocha run that just ended, seconds. Of two that end at the same moment, one gets the time of both. */
function processorSeconds() {
  const now = childSeconds();
  if (now === undefined) return undefined;
  const seconds = now - secondsBefore;
  secondsBefore = now;
  return seconds;
}

/** The totals of a part. */
async function runPart({ name, specs, apart = false }, args, file, alone) {
  const started = performance.now();
  if (alone) console.log(`\ntests of ${name}`);
  const ended = [];
  for (const [at, group] of (apart ? specs.map((spec) => [spec]) : [specs]).entries())
    ended.push(await runGroup(name, [...group, ...args], `${file}.${at}`, alone));
  if (!alone)
    process.stdout.write(`\ntests of ${name}\n${ended.map(({ output }) => output).join('')}`);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const verdict = ended.every(({ ok }) => ok) ? 'ok' : 'FAILED';
  const busy = ended.reduce((sum, { used = NaN }) => sum + used, 0);
  const used = Number.isNaN(busy) ? '' : `, ${busy.toFixed(1)} s of processor time`;
  console.error(`${verdict} tests of ${name} (${seconds} s${used})`);
  return totalsOf(ended.map(({ counted }) => counted));
}

/** The totals of one mocha run; a run that fails without a failed test counts as one failure. */
async function runGroup(name, args, file, alone) {
  const { output, status, signal, used } = await runMocha(args, file, alone);
  const counted = readTotals(file) ?? {
    passes: 0,
    failures: 0,
    pending: 0,
    failed: [],
    reasons: [],
  };
  if (status === 0 || counted.failures > 0) return { output, ok: status === 0, used, counted };
  const why = `${name}: mocha ended with ${signal ?? `exit code ${status}`}`;
  return {
    output,
    ok: false,
    used,
    counted: { ...counted, failures: 1, failed: [why], reasons: [''] },
  };
}

/** The sum of totals. */
function totalsOf(counted) {
  const sum = (key) => counted.reduce((total, part) => total + part[key], 0);
  return {
    passes: sum('passes'),
    failures: sum('failures'),
    pending: sum('pending'),
    failed: counted.flatMap(({ failed }) => failed),
    reasons: counted.flatMap(({ reasons }) => reasons),
  };
}

/** Runs mocha. Its output goes to the terminal if it runs alone, otherwise to a file whose content is returned. */
function runMocha(args, totals, alone) {
  const log = alone ? undefined : openSync(`${totals}.log`, 'w+');
  return new Promise((resolve, reject) => {
    const child = spawn(join(root, 'node_modules/.bin/mocha'), args, {
      cwd: root,
      stdio: log === undefined ? 'inherit' : ['ignore', log, log],
      env: { ...process.env, KEDGE_TOTALS_FILE: totals },
      timeout: partMs,
      killSignal: 'SIGKILL',
    });
    child.once('error', reject);
    child.once('exit', (status, signal) => {
      const used = processorSeconds();
      const output = log === undefined ? '' : readFileSync(`${totals}.log`, 'utf8');
      resolve({ output, status, signal, used });
    });
  }).finally(() => {
    if (log !== undefined) closeSync(log);
  });
}

function readTotals(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Runs all parts regardless of failures, prints the sum and each failure, and writes the sum to the file that
 * KEDGE_TOTALS_FILE names, if it is set. Exits with 1 if a part failed; throws if one contains no test. One part more
 * runs at a time than the machine has processors, but at most five, since parts wait for processes and timers. While
 * they leave processors idle, further ones start, at most one for each processor. With one processor the parts run one
 * after the other. Prints the share of time for which the processors were busy: the run is faster if parts do less work
 * where it is high, and if they wait less where it is low.
 */
export async function runParts(parts, args = [], { busy = busyMs, everyMs = loadMs } = {}) {
  const empty = parts.filter(({ specs }) => specs.length === 0);
  if (empty.length > 0) throw new Error(`no tests in ${empty.map(({ name }) => name).join(', ')}`);
  const folder = mkdtempSync(join(tmpdir(), 'kedge-totals-'));
  const started = performance.now();
  const rank = ({ name }) => (longest.includes(name) ? longest.indexOf(name) : longest.length);
  const waiting = [...parts].sort((a, b) => rank(a) - rank(b)).entries();
  const cores = availableParallelism();
  const lanes = Math.min(cores === 1 ? 1 : cores + 1, 5, parts.length);
  const lanesMax = lanes === 1 ? 1 : lanes + cores;
  const counted = [];
  let before = { at: started, busy: busy() };
  const first = before;
  /** Share of the processors that was idle when it was last measured. */
  let idle = 0;
  const idleSince = ({ at, busy }, now) => 1 - (now.busy - busy) / ((now.at - at) * cores);
  const running = new Set();
  /** Starts the next part; false if all have started. */
  const startNext = () => {
    const { value: [index, part] = [] } = waiting.next();
    if (part === undefined) return false;
    const ended = runPart(part, args, join(folder, `${index}.json`), lanes === 1).then((totals) => {
      counted[index] = totals;
      running.delete(ended);
      if (running.size < lanes || idle > idleMinKept) startNext();
    });
    running.add(ended);
    return true;
  };
  while (running.size < lanes && startNext());
  const further = setInterval(() => {
    const now = { at: performance.now(), busy: busy() };
    idle = idleSince(before, now);
    before = now;
    if (idle > idleMin && running.size < lanesMax) startNext();
  }, everyMs);
  try {
    while (running.size > 0) await Promise.race(running);
  } finally {
    clearInterval(further);
  }
  rmSync(folder, { recursive: true });
  const totals = totalsOf(counted);
  console.log('');
  for (const [index, title] of totals.failed.entries()) {
    console.log(`failed: ${title}`);
    const reason = totals.reasons[index];
    if (reason) console.log(`  ${reason.replaceAll('\n', '\n  ')}`);
  }
  console.log(`${totals.passes} passed, ${totals.failures} failed, ${totals.pending} skipped`);
  const file = process.env['KEDGE_TOTALS_FILE'];
  if (file) writeFileSync(file, JSON.stringify(totals));
  const busyPercent = Math.round(
    100 * (1 - idleSince(first, { at: performance.now(), busy: busy() })),
  );
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.error(`${cores} processors, ${busyPercent} % busy`);
  console.error(`${totals.failures === 0 ? 'ok' : 'FAILED'} tests (${seconds} s)`);
  if (totals.failures > 0) process.exit(1);
}
