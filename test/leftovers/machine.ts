import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { engineInterfaces } from './engine-networks.js';
import { isOwnGroup } from './own-clusters.js';

/** The observed parts of the machine. */
export interface LookedAt {
  /** Directory of all files of the tests of this process. */
  readonly directory: string;
  /** Whether to observe the firewall too. */
  readonly firewall: boolean;
}

const groups = '/sys/fs/cgroup';

function names(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // It ended or was removed meanwhile.
    return '';
  }
}

function processes(directory: string): readonly string[] {
  return names('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return [];
    const words = textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
    return words.includes(`${directory}/`) ? [`process ${pid}: ${words.slice(0, 200)}`] : [];
  });
}

function mounts(directory: string): readonly string[] {
  return textOf('/proc/self/mountinfo')
    .split('\n')
    .flatMap((line) => {
      const [, , , , target = ''] = line.split(' ');
      return target === directory || target.startsWith(`${directory}/`) ? [`mount ${target}`] : [];
    });
}

function loopDevices(directory: string): readonly string[] {
  return names('/sys/block').flatMap((name) => {
    const file = textOf(`/sys/block/${name}/loop/backing_file`).trim();
    return file.startsWith(`${directory}/`) ? [`loop device ${name} of ${file}`] : [];
  });
}

/**
 * Control groups of this process's engines and clusters, and those without a cluster and a process, which have no owner.
 * Groups of other clusters may belong to a suite that runs at the same time, also if they have no process at the moment.
 */
function controlGroups(): readonly string[] {
  const own = `kedge-test-${process.pid}-`;
  const found = new Set<string>();
  for (const hierarchy of ['.', ...names(groups)]) {
    const root = `${groups}/${hierarchy}`;
    for (const name of names(root)) if (name.startsWith(own)) found.add(`${root}/${name}`);
    for (const name of names(`${root}/kedge`)) {
      const isIdle = (): boolean => textOf(`${root}/kedge/${name}/cgroup.procs`) === '';
      if (isOwnGroup(name) || (/^[0-9a-f-]{36}$/.test(name) && isIdle()))
        found.add(`${root}/kedge/${name}`);
    }
  }
  return [...found].map((folder) => `control group ${folder}`);
}

/** The rules without their counters; empty if the program is missing. */
function rules(program: string): readonly string[] {
  try {
    const text = execFileSync(program, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => `rule of ${program}: ${line.replace(/ ?\[\d+:\d+\] ?/, '')}`);
  } catch {
    return [];
  }
}

/** The resources that tests may leave on a machine, one per line. */
export function machineState({ directory, firewall }: LookedAt): ReadonlySet<string> {
  return new Set([
    ...processes(directory),
    ...mounts(directory),
    ...loopDevices(directory),
    ...controlGroups(),
    ...engineInterfaces(directory).map((name) => `network interface ${name}`),
    ...(firewall ? ['iptables-save', 'ip6tables-save'].flatMap(rules) : []),
  ]);
}

/** The new resources, and the removed rules. */
export function differences(
  before: ReadonlySet<string>,
  after: ReadonlySet<string>,
): readonly string[] {
  const added = [...after].filter((line) => !before.has(line));
  const gone = [...before].filter((line) => line.startsWith('rule of') && !after.has(line));
  return [...added, ...gone.map((line) => `no longer: ${line}`)];
}
