/** An attack from a sandboxed process. */
export interface Attack {
  readonly name: string;
  /**
   * A shell script that succeeds if the attack does. Its variables are DATA (the daemon's directory, with the
   * file kek), BASE (its parent), VICTIM (a process of the same user), DAEMON, SOCKET (of an engine), SHARED
   * (in shared memory), SEGMENT, QUEUE and SEMAPHORES (ids of System V).
   */
  readonly script: string;
  /** Whether an ordinary user without a sandbox also succeeds; `command`: from the command only. */
  readonly alsoAsUser?: true | 'command';
}

const rewrite = (file: string): string => `v=$(cat ${file}) && echo "$v" >${file}`;

/** The attacks. A successful one leaves the machine unchanged. */
export const attacks: readonly Attack[] = [
  { name: 'uncover the data directory', script: 'umount -l $DATA; cat $DATA/kek' },
  { name: 'bind its parent', script: 'mount --bind $BASE /mnt && cat /mnt/data/kek' },
  {
    name: 'show its parent by an overlay',
    script: 'mount -t overlay -o lowerdir=$BASE:/usr/share/doc none /mnt && cat /mnt/data/kek',
  },
  { name: 'root of the daemon', script: 'cat /proc/$DAEMON/root$DATA/kek' },
  { name: 'directory of the daemon', script: 'cat /proc/$DAEMON/cwd/$DATA/kek' },
  { name: 'descriptors of the daemon', script: 'ls -l /proc/$DAEMON/fd/0' },
  { name: 'environment of the daemon', script: 'cat /proc/$DAEMON/environ | grep -q PATH' },
  { name: 'memory of the daemon', script: 'exec 3<>/proc/$DAEMON/mem' },
  { name: 'mount namespace of the daemon', script: 'nsenter -t $DAEMON -m cat $DATA/kek' },
  {
    name: 'processes of the machine',
    script: 'grep -qa 424242 /proc/$VICTIM/cmdline',
    alsoAsUser: true,
  },
  { name: 'signals to the machine', script: 'kill -USR1 $VICTIM', alsoAsUser: true },
  {
    name: 'ptrace',
    script: `perl -e 'exit(syscall(101, 16, $ENV{VICTIM} + 0, 0, 0) == 0 ? 0 : 1)'`,
  },
  { name: 'priority of the machine', script: 'renice -n 19 $VICTIM', alsoAsUser: true },
  { name: 'shared memory of others', script: 'cat $SHARED', alsoAsUser: true },
  {
    name: 'command line of the daemon',
    script: 'grep -q . /proc/$DAEMON/cmdline',
    alsoAsUser: true,
  },
  { name: 'signals to the daemon', script: 'kill -0 $DAEMON', alsoAsUser: true },
  {
    name: 'processors of the machine’s processes',
    script: 'taskset -p 1 $VICTIM',
    alsoAsUser: true,
  },
  {
    name: 'disk priority of the machine’s processes',
    script: 'ionice -c 3 -p $VICTIM',
    alsoAsUser: true,
  },
  {
    name: 'limits of the machine’s processes',
    script: 'prlimit --pid $VICTIM --nofile=100:100',
    alsoAsUser: true,
  },
  {
    name: 'which of the machine’s processes is killed first',
    script: 'echo 900 >/proc/$VICTIM/oom_score_adj',
    alsoAsUser: true,
  },
  {
    name: 'memory segments of others',
    script: `awk -v id=$SEGMENT '$2 == id' /proc/sysvipc/shm | grep -q .`,
    alsoAsUser: true,
  },
  {
    name: 'message queues of others',
    script: `awk -v id=$QUEUE '$2 == id' /proc/sysvipc/msg | grep -q .`,
    alsoAsUser: true,
  },
  {
    name: 'semaphores of others',
    script: `awk -v id=$SEMAPHORES '$2 == id' /proc/sysvipc/sem | grep -q .`,
    alsoAsUser: true,
  },
  { name: 'the services of the machine', script: 'ls $SOCKET', alsoAsUser: true },
  {
    name: 'network of the machine’s processes by their namespace',
    script: 'nsenter -t $VICTIM -n true',
  },
  {
    name: 'uncover the data directory in a namespace of its own',
    script: 'unshare -m sh -c "umount -l $DATA; cat $DATA/kek"',
  },
  {
    name: 'its log by a link',
    script:
      'umount -l $DATA; for d in $DATA/instances/*-*; do ln -s $DATA/kek $d/planted && rm $d/planted; done',
  },
  { name: 'messages of the kernel', script: 'exec 3</dev/kmsg' },
  { name: 'socket of the engine', script: 'test -S $SOCKET -a -w $SOCKET', alsoAsUser: true },
  { name: 'a device of its own', script: 'mknod /tmp/$$ b 7 0 && rm /tmp/$$' },
  {
    name: 'the mode of a device of the machine',
    script: 'm=$(stat -c %a /dev/full) && chmod 600 /dev/full && chmod $m /dev/full',
  },
  { name: 'loop devices', script: 'exec 3</dev/loop-control' },
  {
    name: 'disks of the machine',
    script: 'for d in /dev/vd? /dev/sd? /dev/loop0; do head -c 1 $d && exit 0; done; exit 1',
  },
  { name: 'a read-only volume', script: 'mount -o remount,bind,rw /ro && : >/ro/written' },
  { name: 'a mount of its own', script: 'mount -t tmpfs none /mnt && umount /mnt' },
  {
    name: 'release_agent',
    script: `f=$(ls /sys/fs/cgroup/*/release_agent | head -n 1); ${rewrite('$f')}`,
  },
  {
    name: 'a control group',
    script:
      'for d in /sys/fs/cgroup /sys/fs/cgroup/*; do mkdir $d/kedge-box && rmdir $d/kedge-box && exit 0; done; exit 1',
  },
  { name: 'core_pattern', script: rewrite('/proc/sys/kernel/core_pattern') },
  { name: 'host name', script: 'hostname "$(hostname)"' },
  {
    name: 'a raw socket',
    script: `perl -e 'use Socket; socket(S, PF_INET, SOCK_RAW, 1) or exit 1'`,
  },
  {
    name: 'a higher priority',
    script: 'nice -n -5 true 2>&1 | grep -q . && exit 1; exit 0',
  },
  { name: 'programs of the machine', script: ': >/usr/kedge-box && rm /usr/kedge-box' },
  { name: 'libraries loaded everywhere', script: 'exec 3>>/etc/hosts' },
  { name: 'jobs of the machine', script: ': >/etc/kedge-box && rm /etc/kedge-box' },
  {
    name: 'programs that later commands start with',
    script: 'ln -s /tmp /kedge-box-link && rm /kedge-box-link',
    alsoAsUser: true,
  },
  {
    name: 'volume of another workload',
    script: 'cat $BASE/shared/other/secret',
    alsoAsUser: true,
  },
  {
    name: 'changing the volume of another workload',
    script: 'echo more >>$BASE/shared/other/secret',
    alsoAsUser: true,
  },
  {
    name: 'volume of another workload, from its own',
    script: 'cd $BASE/shared/own && cat ../other/secret',
    alsoAsUser: true,
  },
  { name: 'files of the user outside', script: ': >$BASE/home/profile', alsoAsUser: true },
  {
    name: 'new privileges',
    script: '! grep -q "NoNewPrivs:.1" /proc/self/status',
    // Commands of exec remove them from workloads without a sandbox, too.
    alsoAsUser: 'command',
  },
];

/** A script that runs all attacks and prints a line with the name of each successful one. */
export function allAttacks(): string {
  const tried = attacks.map(
    ({ name, script }) => `if (${script}) >/dev/null 2>&1; then echo 'reached: ${name}'; fi`,
  );
  return `${tried.join('\n')}\necho 'all tried'`;
}
