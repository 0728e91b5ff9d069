import { readFile } from 'node:fs/promises';

/** Processor seconds that a process has used. */
export interface ProcessTime {
  readonly own: number;
  /** Processor seconds of its reaped children: supervisors, and the workloads that they reaped. */
  readonly children: number;
}

/** Clock ticks per second in /proc, on every Linux that Node runs on. */
const ticks = 100;

/** Reads the kernel's counters of a process, which exclude other load of the machine. */
export async function processTime(pid: number): Promise<ProcessTime> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The program name is in parentheses and may contain spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const seconds = (first: number): number =>
    (Number(fields[first]) + Number(fields[first + 1])) / ticks;
  return { own: seconds(11), children: seconds(13) };
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
