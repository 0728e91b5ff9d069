import { closeSync, constants, openSync, readSync } from 'node:fs';

/** The kernel truncates a record to less than this. */
const recordBytesMax = 8_192;
/** Records that are read between two turns of the event loop. */
const recordsAtOnce = 500;
/** Maximum number of containers that are remembered, the latest ones. */
const knownMax = 10_000;

/** The code of an error, such as that of a read at the end of the log or of an overwritten record. */
function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/**
 * The container at whose memory limit the kernel killed a process, from a line of its log (Linux 5.0 or later); undefined
 * for other lines. A kill at the limit of a control group above the container is not one at its own limit.
 */
export function memoryKillIn(line: string): string | undefined {
  // The number before the comma is below 8 in messages of the kernel, and not in those of processes.
  const [, group] =
    /^[0-7],[^;]*;oom-kill:constraint=CONSTRAINT_MEMCG,.*?,oom_memcg=([^,]*),/.exec(line) ?? [];
  // The control group of a container is named after its id, such as docker/ID or docker-ID.scope.
  return group === undefined
    ? undefined
    : /(?:^|[^0-9a-f])([0-9a-f]{64})(?:\.scope)?$/.exec(group)?.[1];
}

/**
 * The containers at whose memory limit the kernel of this machine killed a process, from the log of the kernel. The
 * kernel writes to it before it kills, so the log has the kill when the end of a container is observed. It may be
 * incomplete: the kernel describes at most ten kills in five seconds, only root may read the log (CAP_SYSLOG), and the
 * engine may run on another machine.
 */
export class MemoryKills {
  readonly #file: string;
  /** Undefined before the first read, and if the log can't be read. */
  #descriptor: number | undefined;
  #isOpened = false;
  /** The begin of a line whose end was not read yet. The kernel returns whole records. */
  #partial = '';
  readonly #known = new Set<string>();
  #reading: Promise<void> | undefined;

  /** @param file the log of the kernel; default /dev/kmsg */
  constructor(file = '/dev/kmsg') {
    this.#file = file;
  }

  /** Whether the log has a kill at the limit of a container. False if the log can't be read. */
  async include(container: string): Promise<boolean> {
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    await this.#reading;
    return this.#known.has(container);
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
        if (codeOf(error) !== 'EAGAIN') this.close();
        return;
      }
      if (count % recordsAtOnce === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #open(): void {
    this.#isOpened = true;
    try {
      this.#descriptor = openSync(this.#file, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch {
      // No such log here, or no right to read it.
    }
  }

  #add(text: string): void {
    const lines = `${this.#partial}${text}`.split('\n');
    this.#partial = lines.pop() ?? '';
    for (const line of lines) {
      const container = memoryKillIn(line);
      if (container === undefined) continue;
      this.#known.delete(container);
      this.#known.add(container);
      const [oldest] = this.#known;
      if (this.#known.size > knownMax && oldest !== undefined) this.#known.delete(oldest);
    }
  }
}
