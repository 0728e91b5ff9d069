import { readdir, readFile } from 'node:fs/promises';

/** Processor seconds that a daemon has used. */
export interface ProcessTime {
  readonly own: number;
  /** Processor seconds of reaped children: supervisors, and the workloads that they reaped. */
  readonly children: number;
}

/** Clock ticks per second in /proc, on every Linux that Node runs on. */
const ticks = 100;

async function timesOf(pid: number): Promise<ProcessTime> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The program name is in parentheses and may contain spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const seconds = (first: number): number =>
    (Number(fields[first]) + Number(fields[first + 1])) / ticks;
  return { own: seconds(11), children: seconds(13) };
}

/** The processes that a daemon starts workloads with. */
async function launchersOf(pid: number): Promise<readonly number[]> {
  const read = (file: string): Promise<string> => readFile(`/proc/${file}`, 'utf8').catch(() => '');
  const threads = await readdir(`/proc/${pid}/task`);
  const lists = await Promise.all(threads.map((id) => read(`${pid}/task/${id}/children`)));
  const children = lists.flatMap((list) => list.split(' ').filter((child) => child.trim() !== ''));
  const commands = await Promise.all(children.map((child) => read(`${child}/cmdline`)));
  return children
    .filter((_, at) => commands[at]?.includes('/launch.cjs') === true)
    .map((child) => Number(child));
}

/**
 * Reads the kernel's counters of a daemon and of its launcher, which starts workloads for it. They exclude other load
 * of the machine.
 */
export async function processTime(pid: number): Promise<ProcessTime> {
  const all = await Promise.all([pid, ...(await launchersOf(pid))].map(timesOf));
  const sum = (times: readonly number[]): number => times.reduce((total, time) => total + time, 0);
  return { own: sum(all.map(({ own }) => own)), children: sum(all.map((time) => time.children)) };
}

/** Processor seconds of the first thread of a process: the event loop of a daemon, without V8's and libuv's threads. */
export async function firstThreadTime(pid: number): Promise<number> {
  const [nanoseconds] = (await readFile(`/proc/${pid}/task/${pid}/schedstat`, 'utf8')).split(' ');
  return Number(nanoseconds) / 1e9;
}

/** Percent of a core. */
export interface CoreShare {
  readonly own: number;
  readonly withChildren: number;
}

/** The share of a core that a process uses while `work` runs. */
export async function coreShare(pid: number, work: () => Promise<unknown>): Promise<CoreShare> {
  const [before, startedAt] = [await processTime(pid), performance.now()];
  await work();
  const [after, seconds] = [await processTime(pid), (performance.now() - startedAt) / 1_000];
  const own = ((after.own - before.own) / seconds) * 100;
  return { own, withChildren: own + ((after.children - before.children) / seconds) * 100 };
}
