import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';

/** The number in a file of the kernel; undefined if the file can't be read, or contains no number. */
function numberIn(file: string): number | undefined {
  try {
    return Number(readFileSync(file, 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}

/** The resources of this machine as quantities. */
export function machineCapacity(): Readonly<Record<string, string>> {
  const bounds = ['pid_max', 'threads-max'].flatMap(
    (name) => numberIn(`/proc/sys/kernel/${name}`) ?? [],
  );
  return {
    cpu: String(availableParallelism()),
    memory: `${Math.floor(totalmem() / 1_024)}Ki`,
    ...(bounds.length > 0 && { pids: String(Math.min(...bounds)) }),
  };
}
