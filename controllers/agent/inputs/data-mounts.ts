import { type Logger, messageOf } from 'kedge';
import type { Configmap } from '../../configmap/kind.js';
import type { Instance } from '../../instance/kind.js';
import type { Secret } from '../../secret/kind.js';
import type { DataMount } from '../../service/kind.js';
import { openSecret } from '../../secret/index.js';
import { filePathProblem } from '../../service/index.js';
import type { DataFiles } from './data-files.js';
import type { EnvironmentSources } from './environment.js';
import type { WorkloadMount } from '../runtime/runtime.js';
import { inputMessages, memoryFull } from '../../messages/inputs.js';

/** The mounted files of a workload from secrets and configmaps, or the missing input. */
export type DataMountsOutcome =
  | { readonly type: 'ready'; readonly mounts: readonly WorkloadMount[] }
  /**
   * A secret, a configmap or a key of one does not exist, or a key can't be a file name. A change of the object queues
   * the instance.
   */
  | { readonly type: 'missing'; readonly message: string }
  /** The files could not be written, or a value of a secret not be opened. The write can be retried. */
  | { readonly type: 'failed'; readonly message: string }
  /** A directory of files that a running workload mounted was removed from the node. */
  | { readonly type: 'removed'; readonly message: string };

/** One entry of secretMounts or configmapMounts. */
interface Entry {
  readonly kind: 'secret' | 'configmap';
  /** `secretMounts[0]` */
  readonly field: string;
  /** Folder with the files of the mount. */
  readonly set: string;
  readonly mount: DataMount;
}

/** The files of an entry with their version, or the reason why there are none. */
type Content =
  | {
      readonly version: string;
      readonly paths: readonly string[];
      readonly files: () => ReadonlyMap<string, string>;
    }
  | { readonly problem: string };

function entriesOf({ template }: Instance): readonly Entry[] {
  const entry =
    (kind: Entry['kind']) =>
    (mount: DataMount, index: number): Entry => ({
      kind,
      field: `${kind}Mounts[${index}]`,
      set: `${kind}-${index}`,
      mount,
    });
  return [
    ...(template.secretMounts ?? []).map(entry('secret')),
    ...(template.configmapMounts ?? []).map(entry('configmap')),
  ];
}

/** Keeps the files of secretMounts and configmapMounts, by instance uid. */
export class DataMounts {
  readonly #files: DataFiles;
  readonly #sources: EnvironmentSources;
  readonly #logger: Logger;
  /**
   * The last written version, by directory. Empty after a restart of the daemon, so that all files are written again.
   */
  readonly #written = new Map<string, string>();
  #opened = false;

  constructor(files: DataFiles, sources: EnvironmentSources, logger: Logger) {
    this.#logger = logger;
    this.#files = files;
    this.#sources = sources;
  }

  /**
   * Prepares the directory, and removes the files of deleted instances and those that {@link DataFiles.sweep} removes.
   * Logs a failure. If the directory was not opened, a later write opens it.
   * @param living uids of all instances
   */
  async open(living: ReadonlySet<string>): Promise<void> {
    try {
      await this.#files.open();
      this.#opened = true;
      for (const uid of await this.#files.owners())
        if (!living.has(uid)) await this.#files.remove(uid);
      const swept = await this.#files.sweep();
      if (swept.length > 0)
        this.#logger.info('removed mounted files of deleted data directories', { swept });
    } catch (error) {
      // Workloads with such files report the error themselves, and retry.
      this.#logger.warn('the directory of mounted secrets and configmaps is not ready', {
        error: messageOf(error),
      });
    }
  }

  /**
   * Writes the sets of files of an instance that changed or that are incomplete on the node. If an input is missing,
   * the previous files of its set and of the sets after it are kept.
   * @param isRunning whether a workload has mounted the directories. Then a directory that was removed is not created
   * again, because the workload would not see it.
   */
  async write(instance: Instance, isRunning: boolean): Promise<DataMountsOutcome> {
    try {
      return await this.#write(instance, entriesOf(instance), isRunning);
    } catch (error) {
      // The error of a write has no path.
      const isFull = (error as NodeJS.ErrnoException).code === 'ENOSPC';
      const full = isFull ? `${memoryFull.format({ path: this.#files.fileSystem })}: ` : '';
      return {
        type: 'failed',
        message: `mounted secrets and configmaps can't be written: ${full}${messageOf(error)}`,
      };
    }
  }

  async #write(
    instance: Instance,
    entries: readonly Entry[],
    isRunning: boolean,
  ): Promise<DataMountsOutcome> {
    if (entries.length > 0 && !this.#opened) {
      await this.#files.open();
      this.#opened = true;
    }
    const { uid } = instance.metadata;
    const mounts: WorkloadMount[] = [];
    for (const entry of entries) {
      const content = this.#contentOf(entry, instance.namespace, isRunning);
      if ('problem' in content)
        return { type: 'missing', message: `${entry.field}: ${content.problem}` };
      const source = this.#files.at(uid, entry.set);
      const same = this.#written.get(source) === content.version;
      const remains = await this.#files.remainsOf(uid, entry.set, content.paths);
      if (!same || remains !== 'whole') {
        const files = content.files();
        if (!isRunning) await this.#files.write(uid, entry.set, files);
        else if ((await this.#files.rewrite(uid, entry.set, files)) === 'absent')
          return {
            type: 'removed',
            message: `${entry.field}: the directory ${source} with its files was removed from the node, and the workload does not see another one; restart the instance: kedge restart instance/${instance.name}`,
          };
        this.#written.set(source, content.version);
      }
      mounts.push({ source, target: entry.mount.mountPath, readOnly: true });
    }
    return { type: 'ready', mounts };
  }

  /** Removes the files of an instance. */
  async remove({ template, metadata }: Instance): Promise<void> {
    if (!this.#opened) return;
    if (!template.secretMounts?.length && !template.configmapMounts?.length) return;
    for (const source of this.#written.keys())
      if (source.startsWith(`${this.#files.at(metadata.uid, '')}`)) this.#written.delete(source);
    await this.#files.remove(metadata.uid);
  }

  /** Removes the directory if no instance has files in it. */
  async close(): Promise<void> {
    if (this.#opened) await this.#files.close();
  }

  #contentOf({ kind, mount }: Entry, namespace: string, isRunning: boolean): Content {
    const { secrets, configmaps, sealer } = this.#sources;
    const next = isRunning
      ? 'the files of the instance are updated automatically'
      : 'the start of the instance is retried automatically';
    const key = `${namespace}/${mount.name}`;
    const object: Secret | Configmap | undefined =
      kind === 'secret' ? secrets.get(key) : configmaps.get(key);
    if (!object)
      return {
        problem: `${inputMessages[kind].missing.format({ object: key })}; create it, and ${next}`,
      };
    const names = Object.keys(object.data ?? {});
    const items = mount.items?.length
      ? mount.items
      : names.map((name) => ({ key: name, path: name }));
    const lacking = items.find((item) => !names.includes(item.key));
    if (lacking)
      return {
        problem: `${inputMessages[kind].keyMissing.format({ object: key, key: lacking.key })}; add the key, and ${next}`,
      };
    const odd = items.find((item) => filePathProblem(item.path) !== undefined);
    if (odd)
      return {
        problem: `key "${odd.key}" of ${kind} ${key} can't be used as a file name; set a path for it in items`,
      };
    const { uid, resourceVersion } = object.metadata;
    return {
      version: JSON.stringify([uid, resourceVersion, items]),
      paths: items.map(({ path }) => path),
      files: () => {
        const data = kind === 'secret' ? openSecret(sealer, object) : object.data;
        return new Map(items.map((item) => [item.path, data?.[item.key] ?? '']));
      },
    };
  }
}
