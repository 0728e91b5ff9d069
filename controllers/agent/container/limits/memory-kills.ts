import { type Logger, messageOf } from 'kedge';
import { closeSync, constants, openSync, readSync } from 'node:fs';

/** The kernel truncates a record to less than this. */
const recordBytesMax = 8_192;
/** Records that are read between two turns of the event loop. */
const recordsAtOnce = 500;
/** Maximum number of containers that are remembered, the latest ones. */
const knownMax = 10_000;
/**
 * The clock of the log is not corrected by the network, unlike the monotonic clock, whose rate differs from it by at most
 * this part (adjtimex(2)).
 */
const driftMax = 500e-6;

/** Codes of a log that does not exist here, or that the user of this process may not read. */
const withoutLog: readonly (string | undefined)[] = ['ENOENT', 'EPERM', 'EACCES'];

/** The code of an error, such as that of a read at the end of the log or of an overwritten record. */
function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/** A kill of a process at the memory limit of its container. */
export interface MemoryKill {
  /** The whole id. */
  readonly container: string;
  /** Milliseconds since the start of the kernel, without those in which the machine was suspended. */
  readonly atMs: number;
}

/** Milliseconds since the start of the kernel, without those in which the machine was suspended. */
function upMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

/**
 * The kill at the memory limit of a container, from a line of the kernel's log (Linux 5.0 or later); undefined for other
 * lines. A kill at the limit of a control group above the container is not one at its own limit.
 */
export function memoryKillIn(line: string): MemoryKill | undefined {
  // The number before the comma is below 8 in messages of the kernel, and not in those of processes. The third is the
  // time in microseconds.
  const [, micros, group] =
    /^[0-7],\d+,(\d+),[^;]*;oom-kill:constraint=CONSTRAINT_MEMCG,.*?,oom_memcg=([^,]*),/.exec(
      line,
    ) ?? [];
  if (group === undefined) return undefined;
  // The control group of a container is named after its id, such as docker/ID or docker-ID.scope.
  const [, container] = /(?:^|[^0-9a-f])([0-9a-f]{64})(?:\.scope)?$/.exec(group) ?? [];
  return container === undefined ? undefined : { container, atMs: Number(micros) / 1_000 };
}

/** Dependencies of {@link MemoryKills}. */
export interface MemoryKillsOptions {
  readonly logger: Logger;
  /** The log of the kernel. Default: /dev/kmsg. */
  readonly file?: string | undefined;
  /** The time since the start of the kernel as in {@link MemoryKill}. Default: that of this machine. */
  readonly up?: () => number;
}

/**
 * The containers at whose memory limit the kernel of this machine killed a process, from the log of the kernel. The
 * kernel writes to it before it kills, so the log has the kill when the end of a container is observed. It may be
 * incomplete: the kernel describes at most ten kills in five seconds, often only root may read the log
 * (kernel.dmesg_restrict), and the engine may run on another machine.
 */
export class MemoryKills {
  readonly #logger: Logger;
  readonly #file: string;
  /** Undefined before the first read, and if the log can't be read. */
  #descriptor: number | undefined;
  #isOpened = false;
  /** The begin of a line whose end was not read yet. The kernel returns whole records. */
  #partial = '';
  /** Time of the latest kill by container, see {@link MemoryKill}. */
  readonly #known = new Map<string, number>();
  readonly #upMs: () => number;
  #reading: Promise<void> | undefined;

  constructor({ logger, file = '/dev/kmsg', up = upMs }: MemoryKillsOptions) {
    this.#logger = logger;
    this.#file = file;
    this.#upMs = up;
  }

  /**
   * Whether the log has a kill at the limit of a container within the last `ms` milliseconds. False if the log can't be
   * read. Older kills may count too: those of a time in which the machine was suspended since, and those that are older
   * by the possible difference of the clocks, 43 seconds for each day since the start of the kernel.
   */
  async include(container: string, ms: number): Promise<boolean> {
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    await this.#reading;
    const at = this.#known.get(container);
    if (at === undefined) return false;
    const up = this.#upMs();
    return up - at <= ms + up * driftMax;
  }

  /** Closes the log. Kills that were read are still known. */
  close(): void {
    this.#isOpened = true;
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  /** Reads what was added to the log since the last read. */
  async #read(): Promise<void> {
    if (!this.#isOpened) this.#open();
    const buffer = Buffer.alloc(recordBytesMax);
    for (let count = 1; this.#descriptor !== undefined; count += 1) {
      try {
        const length = readSync(this.#descriptor, buffer);
        if (length === 0) return;
        this.#add(buffer.toString('utf8', 0, length));
      } catch (error) {
        // The next read continues with the oldest record that is left.
        if (codeOf(error) === 'EPIPE') continue;
        // EAGAIN is the end. After another error the log is not read any more: it is only one of several sources.
        if (codeOf(error) === 'EAGAIN') return;
        this.close();
        this.#report(error);
        return;
      }
      if (count % recordsAtOnce === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #open(): void {
    this.#isOpened = true;
    try {
      this.#descriptor = openSync(this.#file, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (error) {
      this.#report(error);
    }
  }

  /** Reports why the log is not read. It is not opened again, so that this is reported once. */
  #report(error: unknown): void {
    if (withoutLog.includes(codeOf(error))) return;
    this.#logger.warn(
      'the log of the kernel is not read; the cause OOMKilled is missing where the engine does not report it',
      { file: this.#file, error: messageOf(error) },
    );
  }

  #add(text: string): void {
    const lines = `${this.#partial}${text}`.split('\n');
    this.#partial = lines.pop() ?? '';
    for (const line of lines) {
      const kill = memoryKillIn(line);
      if (!kill) continue;
      this.#known.delete(kill.container);
      this.#known.set(kill.container, kill.atMs);
      const [oldest] = this.#known.keys();
      if (this.#known.size > knownMax && oldest !== undefined) this.#known.delete(oldest);
    }
  }
}
