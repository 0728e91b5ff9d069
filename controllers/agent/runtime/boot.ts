import { readFile } from 'node:fs/promises';
import { uptime } from 'node:os';

/** A boot of this machine. */
export interface Boot {
  /** Identifies the boot; the same in all processes until the kernel is started again. */
  readonly id: string;
  /** Start of the kernel, milliseconds since the epoch by the present clock. */
  readonly startedAt: number;
}

/** The boot id of the kernel. */
export async function bootIdOfKernel(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
}

/** The present boot of this machine. @param now milliseconds since the epoch */
export async function bootOfKernel(now: number): Promise<Boot> {
  return { id: await bootIdOfKernel(), startedAt: now - uptime() * 1_000 };
}
