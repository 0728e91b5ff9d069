import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import type { TestDaemon } from '../../acceptance/daemon.js';
import { busyboxImage, type RealEngine } from '../../containers/engine.js';

type Json = Record<string, unknown>;

const base = '/v1/namespaces/default';
const blobBytes = 2 ** 20;
const waitMs = 120_000;

/** A volume through which a container writes a line and a file at each step of its life; all are read back each time. */
export class WrittenVolume {
  readonly #daemon: TestDaemon;
  readonly #engine: RealEngine;
  readonly name: string;
  /** The content that the volume must have: the lines, and the digest of each file. */
  #lines: readonly string[] = [];
  #digests = new Map<string, string>();
  #container = '';
  writes = 0;

  constructor(daemon: TestDaemon, engine: RealEngine, name: string) {
    this.#daemon = daemon;
    this.#engine = engine;
    this.name = name;
  }

  /** A volume with the content that this one has now, as a snapshot of it has. */
  copy(name: string): WrittenVolume {
    const copy = new WrittenVolume(this.#daemon, this.#engine, name);
    copy.#lines = this.#lines;
    copy.#digests = new Map(this.#digests);
    return copy;
  }

  get #service(): string {
    return `user-of-${this.name}`;
  }

  get container(): string {
    return this.#container;
  }

  volume(): Promise<Json> {
    return this.#daemon.ok('GET', `${base}/volumes/${this.name}`);
  }

  async instance(): Promise<Json> {
    return (await this.#daemon.rest('GET', `${base}/instances/${this.#service}-0`)).body;
  }

  /** The volume once a condition holds. */
  async until(what: string, holds: (volume: Json) => boolean): Promise<Json> {
    let seen: Json = {};
    try {
      return await eventually(
        `${this.name} ${what}`,
        async () => {
          seen = await this.volume();
          return holds(seen) && seen;
        },
        waitMs,
      );
    } catch (cause) {
      throw new Error(`${String(cause)}: ${JSON.stringify(seen)}`, { cause });
    }
  }

  /** Starts a container with the volume, and waits until it runs. */
  async use(): Promise<void> {
    await this.begin();
    await this.running();
  }

  /** Creates the service of a container with the volume. */
  async begin(): Promise<void> {
    await this.#daemon.ok('POST', `${base}/services`, {
      ...{ name: this.#service, image: busyboxImage, terminationGracePeriodSeconds: 1 },
      command: ['sh', '-c', 'exec sleep 100000'],
      volumes: [{ name: 'data', mountPath: '/data', claim: { name: this.name } }],
    });
  }

  async running(): Promise<Json> {
    let seen: Json = {};
    const instance = await eventually(
      `a container with ${this.name}`,
      async () => {
        seen = await this.instance();
        return seen['status'] === 'Running' && seen;
      },
      waitMs,
    ).catch((cause: unknown) => {
      throw new Error(`${String(cause)}: ${JSON.stringify(seen)}`, { cause });
    });
    this.#container = String(instance['containerId']);
    return instance;
  }

  /** Ends the container; resolves once the volume is detached. */
  async leave(): Promise<void> {
    await this.#daemon.ok('DELETE', `${base}/services/${this.#service}`);
    const path = `${base}/services/${this.#service}`;
    const gone = async () => (await this.#daemon.rest('GET', path)).status === 404;
    await eventually(`${this.#service} to be gone`, gone, waitMs);
    await this.until('detached', ({ attachments }) => (attachments as unknown[]).length === 0);
  }

  exec(...command: readonly string[]): string {
    return this.#engine.docker('exec', this.#container, ...command);
  }

  /** Reads everything back, and writes a line and a file. */
  write(step: string): void {
    this.verify();
    const file = `file-${this.#digests.size}`;
    const text = randomBytes(blobBytes / 2).toString('hex');
    const digest = createHash('sha256').update(text).digest('hex');
    this.exec('sh', '-c', `echo '${step}' >> /data/lines && sync`);
    const into = ['exec', '-i', this.#container, 'sh', '-c', `cat > /data/${file} && sync`];
    this.#engine.dockerWith(text, ...into);
    this.#lines = [...this.#lines, step];
    this.#digests.set(file, digest);
    this.verify();
    this.writes += 1;
  }

  verify(): void {
    if (this.#lines.length === 0) return;
    expect(this.exec('cat', '/data/lines').split('\n')).to.deep.equal(this.#lines);
    for (const [file, digest] of this.#digests)
      expect(this.exec('sha256sum', `/data/${file}`), file).to.contain(digest);
  }

  /** Bytes of the file system, as the container sees them. */
  sizeOfFileSystem(): number {
    const [, blocks = ''] = this.exec('df', '-k', '/data').split('\n').at(-1)!.trim().split(/\s+/);
    return Number(blocks) * 1024;
  }
}
