import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import {
  type Capability,
  capabilityNamed,
  capabilityNumber,
  parseUser,
} from '../../service/capabilities.js';
import type { WorkloadRights } from '../runtime/runtime.js';
import { programPath } from '../launch/process-table.js';
import { capabilitiesRefused, userMissing, userRefused } from '../../messages/starts.js';

const run = promisify(execFile);

/** How the daemon creates namespaces: as root, or as an unprivileged user in a user namespace. */
export type BoxMode = 'root' | 'user';

/** A user of the machine. */
interface Owner {
  readonly uid: number;
  readonly gid: number;
  /** All groups; absent if the gid was given, or the user does not exist on the machine. */
  readonly groups?: readonly string[];
}

/** Arguments of setpriv(1) for a program without capabilities. */
export const withoutRights: readonly string[] = rightsOf([], []);

/**
 * Arguments of setpriv(1) that change to the requested user, if any, and drop all capabilities except the requested
 * ones, also those of root. `no_new_privs` is always set, so that programs can't regain rights.
 * @throws Error with the reason why this node can't satisfy the request
 */
export async function privilegesOf(
  mode: BoxMode,
  { user, capabilities = [] }: WorkloadRights,
): Promise<readonly string[]> {
  const owner = user ? await ownerNamed(user) : undefined;
  const asked = capabilities.flatMap((name) => capabilityNamed(name) ?? []);
  if (mode === 'user') {
    requireOwn(user, owner);
    if (asked.length > 0)
      throw new Error(
        `${capabilitiesRefused.format({ capabilities: asked })}: kedged on the node of the instance runs as an unprivileged user (uid ${process.getuid?.() ?? ''}); remove them, or run kedged as root`,
      );
    return withoutRights;
  }
  await requireOwnCapabilities(asked);
  // A program with uid 0 gets the bounding set.
  const ambient = owner === undefined || owner.uid === 0 ? [] : asked;
  return [...becoming(owner), ...rightsOf(asked, ambient)];
}

/** The `uid:gid` of arguments from {@link privilegesOf}; undefined if they do not change the user. */
export function ownerOf(privileges: readonly string[]): string | undefined {
  const [uid, gid] = ['--reuid=', '--regid='].map((option) =>
    privileges.find((word) => word.startsWith(option))?.slice(option.length),
  );
  return uid === undefined || gid === undefined ? undefined : `${uid}:${gid}`;
}

/**
 * Arguments of setpriv(1) that set the capabilities of a program.
 * @param ambient capabilities that programs of a user other than root keep
 */
function rightsOf(
  bounding: readonly Capability[],
  ambient: readonly Capability[],
): readonly string[] {
  const only = (kept: readonly Capability[]): string =>
    `-all${kept.map((name) => `,+${name}`).join('')}`;
  return [
    '--no-new-privs',
    `--bounding-set=${only(bounding)}`,
    `--inh-caps=${only(ambient)}`,
    `--ambient-caps=${only(ambient)}`,
  ];
}

/** Arguments of setpriv(1) that change the user and the groups. setpriv does that before it drops capabilities. */
function becoming(owner: Owner | undefined): readonly string[] {
  if (owner === undefined) return [];
  const groups = owner.groups ? `--groups=${owner.groups.join(',')}` : '--clear-groups';
  return [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, groups];
}

async function ownerNamed(text: string): Promise<Owner> {
  const user = parseUser(text);
  if (user === undefined)
    throw new Error(`user ${JSON.stringify(text)} is not a name, uid or uid:gid`);
  if (user.type === 'id' && user.gid !== undefined) return { uid: user.uid, gid: user.gid };
  const known = await accountOf(user.type === 'name' ? user.name : String(user.uid));
  if (known) return known;
  if (user.type === 'id') return { uid: user.uid, gid: user.uid };
  throw new Error(
    `${userMissing.format({ user: user.name })}; create it there (useradd), or set user to a uid`,
  );
}

/** The passwd entry and the groups of a user, by name or number; undefined if the user does not exist. */
async function accountOf(key: string): Promise<Owner | undefined> {
  const env = { PATH: programPath };
  let line: string;
  try {
    line = (await run('getent', ['passwd', key], { env })).stdout;
  } catch (error) {
    // Not found.
    if ((error as { readonly code?: unknown }).code === 2) return undefined;
    throw error;
  }
  const [name = '', , uid, gid] = line.trim().split(':');
  // Looked up outside of the sandbox, where directory services are reachable.
  const { stdout } = await run('id', ['-G', name], { env });
  return { uid: Number(uid), gid: Number(gid), groups: stdout.trim().split(' ') };
}

/** Checks that a workload runs as the user and group of the daemon. @throws Error if it would run as others */
function requireOwn(user: string | undefined, owner: Owner | undefined): void {
  const uid = process.getuid?.();
  const gid = process.getgid?.();
  if (owner === undefined || (owner.uid === uid && owner.gid === gid)) return;
  throw new Error(
    `${userRefused.format({ user: user ?? '' })}: kedged on the node of the instance runs as an unprivileged user (${uid ?? ''}:${gid ?? ''}), which can't change its user; remove user, or run kedged as root`,
  );
}

/** Checks that the daemon has the capabilities itself. @throws Error naming the missing ones */
async function requireOwnCapabilities(asked: readonly Capability[]): Promise<void> {
  if (asked.length === 0) return;
  const status = await readFile('/proc/self/status', 'utf8');
  const had = BigInt(`0x${/^CapBnd:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`);
  const missing = asked.filter((name) => !((had >> BigInt(capabilityNumber(name))) & 1n));
  if (missing.length === 0) return;
  throw new Error(
    `${capabilitiesRefused.format({ capabilities: missing })}: kedged on the node of the instance does not have them (CapBnd in /proc/self/status); remove them, or start kedged with them`,
  );
}
