import { spawn } from 'node:child_process';

/**
 * The synced writes of a process while `work` runs, counted by strace.
 *
 * @returns undefined if strace is missing, may not trace, or counted none
 */
export async function syncsOf(
  pid: number,
  work: () => Promise<unknown>,
): Promise<number | undefined> {
  const args = ['-f', '-c', '-e', 'trace=fdatasync,fsync'];
  const strace = spawn('strace', [...args, '-p', String(pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let report = '';
  const attached = new Promise<void>((resolve) => {
    strace.stderr.on('data', (data) => {
      report += String(data);
      if (report.includes(' attached')) resolve();
    });
    strace.on('close', resolve).on('error', () => resolve());
  });
  const ended = new Promise<boolean>((resolve) => {
    strace.on('error', () => resolve(false));
    strace.on('close', () => resolve(true));
  });
  await attached;
  await work();
  strace.kill('SIGINT');
  if (!(await ended)) return undefined;
  const counts = [...report.matchAll(/^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s.*f(?:data)?sync$/gm)];
  return counts.length === 0
    ? undefined
    : counts.reduce((sum, [, count]) => sum + Number(count), 0);
}
