/** Linux capabilities in the order of their numbers. */
const capabilityNames = [
  'chown',
  'dac_override',
  'dac_read_search',
  'fowner',
  'fsetid',
  'kill',
  'setgid',
  'setuid',
  'setpcap',
  'linux_immutable',
  'net_bind_service',
  'net_broadcast',
  'net_admin',
  'net_raw',
  'ipc_lock',
  'ipc_owner',
  'sys_module',
  'sys_rawio',
  'sys_chroot',
  'sys_ptrace',
  'sys_pacct',
  'sys_admin',
  'sys_boot',
  'sys_nice',
  'sys_resource',
  'sys_time',
  'sys_tty_config',
  'mknod',
  'lease',
  'audit_write',
  'audit_control',
  'setfcap',
  'mac_override',
  'mac_admin',
  'syslog',
  'wake_alarm',
  'block_suspend',
  'audit_read',
  'perfmon',
  'bpf',
  'checkpoint_restore',
] as const;

/** A Linux capability of capabilities(7), in lower case and without `CAP_`: `chown`. */
export type Capability = (typeof capabilityNames)[number];

/** The capabilities that a service may list without a right of its own: rights over its own files, processes and ports. */
export const usualCapabilities: readonly Capability[] = [
  'chown',
  'dac_override',
  'fowner',
  'fsetid',
  'kill',
  'net_bind_service',
  'setgid',
  'setuid',
  'sys_chroot',
];

/** Parses a capability name, case-insensitively, with or without `CAP_`; undefined if unknown. */
export function capabilityNamed(name: string): Capability | undefined {
  const bare = name.toLowerCase().replace(/^cap_/, '');
  return capabilityNames.find((capability) => capability === bare);
}

/** The number of a capability: its bit in the sets of /proc/<pid>/status. */
export function capabilityNumber(capability: Capability): number {
  return capabilityNames.indexOf(capability);
}

/** The user of a workload. */
export type WorkloadUser =
  | { readonly type: 'name'; readonly name: string }
  | { readonly type: 'id'; readonly uid: number; readonly gid: number | undefined };

/** The highest number means "no change" in system calls. */
const idMax = 2 ** 32 - 2;

/** Reads `name`, `uid` or `uid:gid`; undefined for anything else. */
export function parseUser(text: string): WorkloadUser | undefined {
  const [, uidText, gidText] = /^(\d{1,10})(?::(\d{1,10}))?$/.exec(text) ?? [];
  if (uidText !== undefined) {
    const uid = Number(uidText);
    const gid = gidText === undefined ? undefined : Number(gidText);
    return Math.max(uid, gid ?? 0) > idMax ? undefined : { type: 'id', uid, gid };
  }
  // As in useradd(8), plus capitals.
  const name = /^[A-Za-z_][A-Za-z0-9_.-]{0,30}\$?$/.exec(text)?.[0];
  return name === undefined ? undefined : { type: 'name', name };
}
