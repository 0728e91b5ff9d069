import { existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import type { Clock } from 'kedge';
import type { EngineClient } from '../engine/engine-client.js';
import { isEngineError } from '../engine/engine-error.js';
import { engineLabels, runOf } from '../run-identity.js';

/** Dependencies of {@link OneOffContainers}. */
export interface OneOffOptions {
  readonly engine: EngineClient;
  readonly cluster: string;
  /** The node of this process. Only one process at a time has it. */
  readonly node: string;
  readonly uuid: () => string;
  readonly clock: Clock;
}

/** A program of this machine that runs as root, with write access to one directory. */
export interface OneOff {
  readonly command: readonly string[];
  /** Mounted at {@link oneOffDirectory}. */
  readonly directory: string;
}

/** Mount path of the directory of a {@link OneOff}. */
export const oneOffDirectory = '/target';

/** Repository of an image without files, with a tag for each node: the programs are those of this machine. */
const repository = 'kedge-empty';
/** Folders with programs and libraries, mounted read-only. The engine resolves links among them. */
const programFolders = ['/usr', '/bin', '/sbin', '/lib', '/lib64'];
/** Capabilities to change owners and modes of files, and to access directories of other users. */
const capabilities = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID'];
/** The end of a tar archive: two empty blocks. */
const emptyTar = Buffer.alloc(1_024);
const outputCharactersMax = 1_000;
/** A container of another node that ended, or was created, this long ago was left by a process that was killed. */
const leftAfterMs = 60_000;

/**
 * Runs programs of this machine as root in short-lived containers, for operations that a kedged of an ordinary user
 * with access to the engine may not execute itself. They have no network, and see only programs and one directory.
 */
export class OneOffContainers {
  readonly #options: OneOffOptions;
  #last: Promise<unknown> = Promise.resolve();
  /** Id of the image that this process created. */
  #image: string | undefined;

  constructor(options: OneOffOptions) {
    this.#options = options;
  }

  /**
   * Runs a program; calls are serialized. @throws Error with the output of a program that failed; EngineError if the
   * engine can't run it
   */
  run(program: OneOff, signal: AbortSignal): Promise<void> {
    const run = this.#last.then(() => this.#run(program, signal));
    this.#last = run.catch(() => undefined);
    return run;
  }

  async #run({ command, directory }: OneOff, signal: AbortSignal): Promise<void> {
    const { engine, cluster, node, uuid } = this.#options;
    const { containers } = engine;
    const labels = { [engineLabels.cluster]: cluster, [engineLabels.once]: node };
    await this.#removeLeft(signal);
    const image = await this.#emptyImage(signal);
    const binds = programFolders.filter((path) => existsSync(path));
    const container = await containers.create(
      `kedge-once-${uuid()}`,
      {
        Image: image,
        Entrypoint: command,
        User: '0:0',
        Labels: labels,
        HostConfig: {
          NetworkMode: 'none',
          CapDrop: ['ALL'],
          CapAdd: capabilities,
          SecurityOpt: ['no-new-privileges'],
          LogConfig: { Type: 'local' },
          Mounts: [
            ...binds.map((path) => ({ Type: 'bind', Source: path, Target: path, ReadOnly: true })),
            { Type: 'bind', Source: directory, Target: oneOffDirectory },
          ],
        },
      },
      signal,
    );
    try {
      await containers.start(container, signal);
      const code = await containers.wait(container, signal);
      if (code !== 0) throw new Error(await this.#output(container, code, signal));
    } finally {
      await containers
        .remove(container, new AbortController().signal, { force: true })
        .catch((error: unknown) => {
          // The engine became unavailable. The next run removes the container.
          if (!isEngineError(error, 'Unreachable', 'Broken', 'Timeout')) throw error;
        });
    }
  }

  /**
   * The id of an image without files, which this process created: a user who may load images can give its name to
   * another image, whose variables and files would act as root.
   */
  async #emptyImage(signal: AbortSignal): Promise<string> {
    const { engine, node } = this.#options;
    const { images } = engine;
    if (this.#image !== undefined && (await images.inspect(this.#image, signal)))
      return this.#image;
    // That of an earlier process of the node. A container that uses it keeps it.
    await images.remove(`${repository}:${node}`, signal).catch((error: unknown) => {
      if (!isEngineError(error, 'Conflict')) throw error;
    });
    const tar = Readable.from([emptyTar]);
    this.#image = await images.importTar(tar, repository, node, signal);
    return this.#image;
  }

  /**
   * Removes containers that a killed process, or an outage of the engine, left. Those of this node have no other owner.
   * Agents of other nodes may use the same engine, so their containers are removed only some time after the end. One
   * that the engine refuses to remove, for example because it is paused or was started meanwhile, is left to its node.
   */
  async #removeLeft(signal: AbortSignal): Promise<void> {
    const { engine, cluster, node, clock } = this.#options;
    const { containers } = engine;
    const filters = [`${engineLabels.cluster}=${cluster}`, engineLabels.once];
    for (const { id, labels, state } of await containers.list(filters, signal)) {
      // A workload whose image has the label.
      if (runOf(labels)) continue;
      const isOwn = labels[engineLabels.once] === node;
      if (!isOwn && state === 'running') continue;
      const found = isOwn ? undefined : await containers.inspect(id, signal);
      const endedAt = found?.finishedAt ?? found?.createdAt;
      if (isOwn || (endedAt !== undefined && clock.now() - endedAt > leftAfterMs))
        await containers.remove(id, signal, { force: isOwn }).catch((error: unknown) => {
          if (isOwn || !isEngineError(error, 'Conflict', 'Failed')) throw error;
        });
    }
  }

  async #output(container: string, code: number, signal: AbortSignal): Promise<string> {
    let text = '';
    const query = { follow: false, tail: 10 };
    for await (const { data } of this.#options.engine.containers.logs(container, query, signal))
      text += data.toString();
    // Each line begins with its time.
    const lines = text.split('\n').map((line) => line.replace(/^\S+ /, ''));
    return lines.join(' ').trim().slice(0, outputCharactersMax) || `exit code ${code}`;
  }
}
