import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isAccessible } from '@kedge/driver-sdk';
import type { ResourceLimits } from '../../../resources/index.js';
import {
  type CgroupController,
  type CgroupVersion,
  type LimitFile,
  limitFiles,
} from './limit-files.js';
import { acceptedIn } from './changed-limit-files.js';
import { killGroup } from './kill-group.js';
import { clusterPrefix } from '../../runtime/cluster-prefix.js';
import { limitsRefused } from '../../../messages/starts.js';

/** The folder of all groups, in each hierarchy. */
const parentName = 'kedge';
/** Attempts to create a group while its parent is removed. */
const createTries = 3;
/** The hierarchy of v1 that freezes processes, so that none is created while all are killed. */
const freezer = 'freezer';

/** The control group of a workload before its start. */
export interface PreparedGroup {
  /** Files to which a process writes `0` to join; empty without limits that can be enforced. */
  readonly procs: readonly string[];
  /** The reason why limits are not enforced; undefined if all are. */
  readonly unenforced: string | undefined;
  /** The files with the limits as the kernel accepted them; see {@link changedLimitFiles}. */
  readonly limits: readonly Pick<LimitFile, 'name' | 'value'>[];
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}

/**
 * Writes files of a control group, which the kernel provides.
 * @throws Error if a file that is not optional can't be written
 */
async function writeFiles(folder: string, files: readonly LimitFile[]): Promise<void> {
  for (const { name, value, isOptional } of files)
    try {
      await writeFile(join(folder, name), value);
    } catch (error) {
      if (!isOptional) throw error;
    }
}

/** Location and names of control groups. */
export interface WorkloadGroupsOptions {
  /** Mount point of the control groups; default /sys/fs/cgroup. */
  readonly root?: string;
  /**
   * Cluster id in the names, because a copy of the cluster may have workloads with the same ids on this machine.
   * Default: none.
   */
  readonly cluster?: string;
}

/**
 * The control groups of workloads with limits: one per workload, below `kedge` in the hierarchies of cgroup v1 or in
 * the one of v2. Like those of container engines they are outside of the daemon's group, whose processes its service
 * manager may kill.
 */
export class WorkloadGroups {
  readonly #root: string;
  readonly #cluster: string;
  readonly #recorded: (id: string) => readonly string[];
  #version: CgroupVersion | undefined;

  /**
   * @param recorded returns the files of the groups that the last run of a workload joined, as in
   * {@link PreparedGroup}. Earlier releases named groups without the cluster. Such a group is used only if it is
   * recorded: otherwise it may belong to a copy of the cluster.
   */
  constructor(
    { root = '/sys/fs/cgroup', cluster = '' }: WorkloadGroupsOptions = {},
    recorded: (id: string) => readonly string[] = () => [],
  ) {
    this.#root = root;
    this.#cluster = clusterPrefix(cluster);
    this.#recorded = recorded;
  }

  #versionNow(): CgroupVersion {
    this.#version ??= existsSync(join(this.#root, 'cgroup.controllers')) ? 'v2' : 'v1';
    return this.#version;
  }

  #name(id: string): string {
    return this.#cluster === '' ? id : `${this.#cluster}-${id}`;
  }

  /** The names that a group of the workload may have, that of an earlier release last. */
  #names(id: string): readonly string[] {
    const isEarlier = this.#recorded(id).some((file) => basename(dirname(file)) === id);
    return [...new Set([this.#name(id), ...(isEarlier ? [id] : [])])];
  }

  #folder(version: CgroupVersion, controller: string, name: string): string {
    const hierarchy = version === 'v1' ? join(this.#root, controller) : this.#root;
    return join(hierarchy, parentName, name);
  }

  /**
   * Creates the group of a workload with its limits, and removes that of an earlier run.
   * @throws Error if the earlier one contains processes
   */
  async prepare(id: string, limits: ResourceLimits = {}): Promise<PreparedGroup> {
    await this.remove(id);
    const version = this.#versionNow();
    const folders = new Set<string>();
    const failures: string[] = [];
    const accepted: LimitFile[] = [];
    for (const [controller, files] of limitFiles(version, limits)) {
      const folder = this.#folder(version, controller, this.#name(id));
      try {
        await this.#limited(version, controller, folder, files);
        accepted.push(...(await acceptedIn(folder, files)));
        folders.add(folder);
      } catch (error) {
        failures.push(`${controller} (${folder}: ${codeOf(error)})`);
      }
    }
    if (version === 'v1' && folders.size > 0) {
      const folder = this.#folder(version, freezer, this.#name(id));
      // Without the freezer, processes are killed one by one.
      await mkdir(folder, { recursive: true }).then(
        () => folders.add(folder),
        () => undefined,
      );
    }
    const why =
      failures.length === 0
        ? undefined
        : `limits of ${failures.join(' and ')} ${limitsRefused.format()}; run it as root on a machine with these cgroup controllers, or remove the limits`;
    const procs = [...folders].map((folder) => join(folder, 'cgroup.procs'));
    return { procs, unenforced: why, limits: accepted };
  }

  async #limited(
    version: CgroupVersion,
    controller: CgroupController,
    folder: string,
    files: readonly LimitFile[],
  ): Promise<void> {
    for (let tries = 1; ; tries += 1)
      try {
        await this.#make(version, controller, folder);
        await writeFiles(folder, files);
        return;
      } catch (error) {
        // The end of another workload, also of another kedged, may have removed the parent meanwhile.
        if (codeOf(error) !== 'ENOENT' || tries >= createTries) throw error;
      }
  }

  async #make(version: CgroupVersion, controller: CgroupController, folder: string): Promise<void> {
    const hierarchy = version === 'v1' ? join(this.#root, controller) : this.#root;
    // A folder that is not managed by the kernel enforces nothing.
    if (!(await isAccessible(join(hierarchy, 'cgroup.procs'))))
      throw Object.assign(new Error('no such hierarchy'), { code: 'ENOENT' });
    if (version === 'v2') {
      const parent = join(hierarchy, parentName);
      await mkdir(parent, { recursive: true });
      for (const above of [hierarchy, parent]) {
        const file = join(above, 'cgroup.subtree_control');
        const enabled = (await readFile(file, 'utf8').catch(() => '')).split(/\s+/);
        if (!enabled.includes(controller)) await writeFile(file, `+${controller}`);
      }
    }
    await mkdir(folder, { recursive: true });
  }

  async #existing(id: string): Promise<readonly string[]> {
    const version = this.#versionNow();
    const controllers = version === 'v1' ? ['cpu', 'memory', 'pids', freezer] : ['memory'];
    const folders = this.#names(id).flatMap((name) =>
      controllers.map((controller) => this.#folder(version, controller, name)),
    );
    const there = await Promise.all(folders.map(isAccessible));
    return folders.filter((_, index) => there[index]);
  }

  /** Files to which a command inside the workload writes `0` to join the workload's groups. */
  async procs(id: string): Promise<readonly string[]> {
    return (await this.#existing(id)).map((folder) => join(folder, 'cgroup.procs'));
  }

  /** Whether the kernel killed a process of the workload for lack of memory: at its limit, or of the whole machine. */
  ranOutOfMemory(id: string): boolean {
    const version = this.#versionNow();
    const file = version === 'v1' ? 'memory.oom_control' : 'memory.events';
    return this.#names(id).some((name) => {
      const path = join(this.#folder(version, 'memory', name), file);
      const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
      return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0) > 0;
    });
  }

  /**
   * Kills all processes of a workload, including those that left its process group. No-op without a control group that
   * can be killed as a whole.
   */
  async kill(id: string): Promise<void> {
    const version = this.#versionNow();
    const controller = version === 'v1' ? freezer : 'memory';
    for (const name of this.#names(id)) {
      const folder = this.#folder(version, controller, name);
      if (await isAccessible(folder)) await killGroup(version, folder);
    }
  }

  /** Removes the group of an ended workload. @throws Error while it contains processes */
  async remove(id: string): Promise<void> {
    for (const folder of await this.#existing(id)) {
      await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
      // The parent is removed with its last group.
      await rmdir(join(folder, '..')).catch(() => undefined);
    }
  }
}
