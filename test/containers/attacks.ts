/** The measure that prevents an attack from a container. The tests can start a container without it. */
export type Measure =
  | 'no view of the machine'
  | 'namespaces of processes'
  | 'a first process of its own'
  | 'namespaces of the network'
  | 'namespaces of memory'
  | 'capabilities'
  | 'a filter of system calls'
  | 'read-only settings of the kernel'
  | 'read-only control groups'
  | 'a list of devices'
  | 'capabilities, with the processes of the machine'
  | 'no raw sockets'
  | 'no device nodes'
  | 'no new privileges'
  | 'a read-only mount'
  | 'a closed descriptor';

/** An attack from a container. */
export interface Attack {
  readonly name: string;
  /**
   * A shell script that succeeds if the attack does. Its variables are DATA (the directory of the daemon, with the
   * file kek), SOCKET (of the engine), LOGS (the directories of its containers, with their logs), OTHER (a volume of another workload, with the file secret), SECRET (a mounted
   * secret of it), VICTIM (a process of the machine), DAEMON, ABSTRACT and PORT (listeners of the machine), SHARED (a
   * file in shared memory), SEGMENT, QUEUE and SEMAPHORES (ids of System V), VOLUMES (where volumes of all drivers
   * are mounted, each with the device `node` and the setuid program `suid`).
   */
  readonly script: string;
  readonly measure: Measure;
  /**
   * `user`: the attack runs only as an ordinary user. Absent: it runs as root and as an ordinary user, and as root in the
   * container without the measure.
   */
  readonly as?: 'user';
}

const rewrite = (file: string): string => `v=$(cat ${file}) && echo "$v" >${file}`;
/** A system call by its number on x86-64; fails if the call does. */
const call = (words: string): string => `perl -e 'exit(syscall(${words}) >= 0 ? 0 : 1)'`;
const connect = (family: string): string =>
  `perl -e '$a = ${family}; $f = syscall(41, unpack("S", $a), 1, 0); exit(syscall(42, $f, $a, length($a)) == 0 ? 0 : 1)'`;

/** Capabilities of a container by default, as a mask: those of the engine without NET_RAW and MKNOD. */
const defaultMask = '0xa00405fb';

const ofTheMachine: readonly Attack[] = [
  { name: 'socket of the engine', script: 'test -S $SOCKET -a -w $SOCKET' },
  { name: 'the engine by its socket', script: connect('pack("Sa*", 1, $ENV{SOCKET})') },
  { name: 'data directory', script: 'cat $DATA/kek' },
  { name: 'files in the data directory', script: ': >$DATA/planted && rm $DATA/planted' },
  { name: 'volume of another workload', script: 'cat $OTHER/secret' },
  { name: 'changing the volume of another workload', script: 'echo more >>$OTHER/secret' },
  { name: 'secret of another workload', script: 'cat $SECRET' },
  {
    // The engine would read the log from the link, and write further output and rotated files through it.
    name: 'a log that is replaced by a link',
    script:
      'for f in $LOGS/*/local-logs/container.log $LOGS/*/*-json.log; do ' +
      'mv $f $f.kept && ln -s $DATA/kek $f && mv $f.kept $f && exit 0; done; exit 1',
  },
].map((attack) => ({ ...attack, measure: 'no view of the machine' }));

const ofProcesses: readonly Attack[] = [
  { name: 'processes of the machine', script: 'grep -qa 42424[2] /proc/[0-9]*/cmdline' },
  { name: 'signals to the machine', script: 'kill -USR1 $VICTIM' },
  { name: 'command line of the daemon', script: 'grep -qa data-director[y] /proc/$DAEMON/cmdline' },
  { name: 'signals to the daemon', script: 'kill -0 $DAEMON' },
  { name: 'which process is killed first', script: 'echo 900 >/proc/$VICTIM/oom_score_adj' },
].map((attack) => ({ ...attack, measure: 'namespaces of processes' }));

const ofMachineRoot: readonly Attack[] = [
  {
    name: 'root of the machine by a process',
    script: 'cat /proc/$VICTIM/root$DATA/kek',
  },
  { name: 'root of the daemon', script: 'cat /proc/$DAEMON/root$DATA/kek' },
  {
    name: 'directory of the daemon',
    script: 'cat /proc/$DAEMON/cwd/../../../../../../..$DATA/kek',
  },
  { name: 'environment of the daemon', script: 'grep -qa PATH= /proc/$DAEMON/environ' },
  { name: 'memory of the daemon', script: 'exec 3<>/proc/$DAEMON/mem' },
  { name: 'descriptors of the daemon', script: 'ls -l /proc/$DAEMON/fd/0' },
  { name: 'mounts of the daemon', script: 'nsenter -t $DAEMON -m cat $DATA/kek' },
  { name: 'network of the machine by a process', script: 'nsenter -t $VICTIM -n true' },
  { name: 'ptrace', script: call('101, 16, $ENV{VICTIM} + 0, 0, 0') },
].map((attack) => ({ ...attack, measure: 'capabilities, with the processes of the machine' }));

/** Attacks that need capabilities which a container does not have by default. */
const ofCapabilities: readonly Attack[] = [
  {
    name: 'capabilities beyond the default',
    script: `c=$(awk '/^CapBnd/ { print $2 }' /proc/self/status); test $((0x$c & ~${defaultMask})) -ne 0`,
  },
  { name: 'a mount of its own', script: 'mount -t tmpfs none /home && umount /home' },
  {
    name: 'a read-only volume, mounted again',
    script: 'mount -o remount,bind,rw /ro && : >/ro/written && mount -o remount,bind,ro /ro',
  },
  {
    name: 'release_agent',
    script: `d=/tmp/cgroup.$$; mkdir $d && mount -t cgroup -o pids none $d && f=$d/release_agent && ${rewrite('$f')}; e=$?; umount $d; rmdir $d; exit $e`,
  },
  { name: 'host name', script: 'hostname "$(hostname)"' },
  { name: 'a higher priority', script: call('141, 0, 0, -5') },
  {
    name: 'files by their handles',
    script:
      `perl -e '$h = pack("Lla128", 128, 0, ""); $m = pack("l", 0); $p = "/own/go"; ` +
      `syscall(303, -100, $p, $h, $m, 0) == 0 or exit 1; open(D, "<", "/own/go") or exit 1; ` +
      `exit(syscall(304, fileno(D), $h, 0) >= 0 ? 0 : 1)'`,
  },
].map((attack) => ({ ...attack, measure: 'capabilities' }));

const ofKernel: readonly Attack[] = [
  {
    name: 'a user namespace',
    script: 'unshare -U true',
    measure: 'a filter of system calls',
  },
  { name: 'keyrings', script: call('250, 0, -3, 0'), measure: 'a filter of system calls' },
  {
    name: 'core_pattern',
    script: rewrite('/proc/sys/kernel/core_pattern'),
    measure: 'read-only settings of the kernel',
  },
  {
    name: 'settings of the network',
    script: rewrite('/proc/sys/net/ipv4/ip_default_ttl'),
    measure: 'read-only settings of the kernel',
  },
  {
    name: 'a control group',
    script:
      'for d in /sys/fs/cgroup/*/; do mkdir $d/kedge-box && rmdir $d/kedge-box && exit 0; done; exit 1',
    measure: 'read-only control groups',
  },
  {
    name: 'messages of the kernel',
    script: 'exec 3</dev/kmsg',
    measure: 'a list of devices',
  },
  { name: 'loop devices', script: 'exec 3</dev/loop-control', measure: 'a list of devices' },
  {
    name: 'device nodes in its volumes',
    script: 'for v in $VOLUMES; do (exec 3<$v/node) && exit 0; done; exit 1',
    measure: 'a list of devices',
  },
];

const others: readonly Attack[] = [
  {
    name: 'root of the first process',
    script: 'cat /proc/1/root$DATA/kek',
    measure: 'a first process of its own',
  },
  {
    name: 'loopback of the machine',
    script: connect('pack("SnNx8", 2, $ENV{PORT}, 2130706433)'),
    measure: 'namespaces of the network',
  },
  {
    name: 'abstract sockets of the machine',
    // Some versions of Node.js pad the name.
    script: [`a*`, 'a107']
      .map((form) => connect(`pack("Sx${form}", 1, $ENV{ABSTRACT})`))
      .join(' || '),
    measure: 'namespaces of the network',
  },
  { name: 'shared memory', script: 'cat $SHARED', measure: 'namespaces of memory' },
  ...[
    ['memory segments', 'shm', 'SEGMENT'],
    ['message queues', 'msg', 'QUEUE'],
    ['semaphores', 'sem', 'SEMAPHORES'],
  ].map(
    ([name = '', file, id]): Attack => ({
      name: `${name} of the machine`,
      script: `awk -v id=$${id} '$2 == id' /proc/sysvipc/${file} | grep -q .`,
      measure: 'namespaces of memory',
    }),
  ),
  { name: 'a raw socket', script: call('41, 2, 3, 1'), measure: 'no raw sockets' },
  { name: 'packets of the network', script: call('41, 17, 3, 768'), measure: 'no raw sockets' },
  {
    name: 'a device of its own',
    script: 'mknod /tmp/node.$$ b 7 0 && rm /tmp/node.$$',
    measure: 'no device nodes',
  },
  {
    name: 'new privileges',
    script: '! grep -q "NoNewPrivs:.1" /proc/self/status',
    measure: 'no new privileges',
  },
  {
    name: 'a setuid program of the image',
    script: '/bin/suid -p -c "test \\$EUID = 0"',
    measure: 'no new privileges',
    as: 'user',
  },
  {
    name: 'setuid programs in its volumes',
    script: 'for v in $VOLUMES; do $v/suid -p -c "test \\$EUID = 0" && exit 0; done; exit 1',
    measure: 'no new privileges',
    as: 'user',
  },
  { name: 'a read-only volume', script: ': >/ro/written', measure: 'a read-only mount' },
  {
    name: 'inherited descriptors',
    script:
      'for n in 3 4 5 6 7 8 9 10 11 12; do for p in self 1; do for up in "" /../../../../../../..; do cat /proc/$p/fd/$n$up$DATA/kek && exit 0; done; done; done; exit 1',
    measure: 'a closed descriptor',
  },
  {
    name: 'the working directory of the process that started it',
    script:
      'for p in self 1; do for up in "" /../../../../../../..; do cat /proc/$p/cwd$up$DATA/kek && exit 0; done; done; exit 1',
    measure: 'a closed descriptor',
  },
];

/** The attacks. A successful one leaves the machine unchanged. */
export const attacks: readonly Attack[] = [
  ...ofTheMachine,
  ...ofProcesses,
  ...ofMachineRoot,
  ...ofCapabilities,
  ...ofKernel,
  ...others,
];

/** A script that makes attacks and prints a line with the name of each successful one. */
export function attackScript(chosen: readonly Attack[]): string {
  const tried = chosen.map(
    ({ name, script }) => `if (${script}) >/dev/null 2>&1; then echo 'reached: ${name}'; fi`,
  );
  return `${tried.join('\n')}\necho 'all tried'`;
}

/** The names of the attacks that a script reports. */
export function reachedIn(text: string): string[] {
  return [...text.matchAll(/^reached: (.*?)\r?$/gm)].map(([, name = '']) => name);
}
