import type { BoxDaemon, SupervisorChange } from './box.js';

/** A place where a workload leaves a program that runs with its rights, for users of the machine. */
export interface SetuidAttack {
  readonly name: string;
  /**
   * A shell script of the workload that leaves the program $NAME. A user of the machine listens at the abstract socket
   * $NAME and passes a descriptor of /tmp to its clients. A volume is at /vol.
   */
  readonly script: string;
  readonly capabilities?: readonly string[];
  /** Disables the measure. */
  readonly off: readonly SupervisorChange[];
  /** Disables a measure outside of the scripts. */
  readonly open?: (daemon: BoxDaemon) => Promise<void>;
  /** Whether only root can do it, on x86-64. */
  readonly rootOnly?: true;
}

const leave = (place: string): string =>
  `cp /usr/bin/id ${place}/$NAME && chmod 4755 ${place}/$NAME`;

const shared = (path: string): SupervisorChange => ({
  file: 'enter-root.sh',
  from: 'show_temporary() {\n',
  to: `show_temporary() {\n  if [ "$1" = ${path} ]; then plan "$1" "$2" none rbind; return; fi\n`,
});
/** Neither the command nor those of exec have a filter. */
const unfiltered: SupervisorChange = {
  file: 'enter.sh',
  from: 'filter=\n#',
  to: 'filter=\n: >"/.host$directory/filter"\n#',
};

/** A program of perl that creates the file with the bit by one system call, and fills it. */
const created = (call: string): string =>
  `perl -e '
    $path = "/vol/$ENV{NAME}"; $program = do { local (@ARGV, $/) = "/usr/bin/id"; <> };
    $how = pack("QQQ", 0101, 04755, 0);
    $fd = syscall(${call}); $fd >= 0 or exit 1;
    open(F, $fd > 0 ? ">&=$fd" : "+<$path") or exit 1; print F $program; close F'`;
const fsetid = ['fsetid'];

/** Structures of sendmsg(2) and recvmsg(2) with one descriptor, for perl on x86-64; `$control` is set before. */
export const message = `
  $byte = "x"; $vector = pack("PQ", $byte, 1);
  $header = pack("QLx4PQPQLx4", 0, 0, $vector, 1, $control, 24, 0);`;
/** The abstract socket $NAME, for perl. */
export const address = 'pack("Sxa*", 1, $ENV{NAME})';

/** A program of perl that passes /tmp to a client. */
export const passTmp = `use Socket; $| = 1; socket(S, 1, 1, 0); bind(S, ${address}) or die; listen(S, 4);
  opendir(D, "/tmp") or die; print "up\n";
  while (accept(C, S)) { $control = pack("Qllix4", 20, 1, 1, fileno(D));${message}
    syscall(46, fileno(C), $header, 0) > 0 or die }`;
const receive = `use Socket; socket(S, 1, 1, 0); connect(S, ${address}) or exit 1;
  $control = "\\0" x 24;${message}
  syscall(47, fileno(S), $header, 0) > 0 or exit 1; $fd = unpack("x16i", $control);
  syscall(81, $fd) == 0 or exit 1; exec "/bin/sh", "-c", "${leave('.').replaceAll('$', '\\$')}"`;

/** The attacks. */
export const setuidAttacks: readonly SetuidAttack[] = [
  { name: 'in /tmp', script: leave('/tmp'), off: [shared('/tmp'), unfiltered] },
  { name: 'in /var/tmp', script: leave('/var/tmp'), off: [shared('/var/tmp'), unfiltered] },
  {
    name: 'in /tmp, where the folders of runs can be entered',
    script: leave('/tmp'),
    off: [unfiltered],
    open: async (daemon) => daemon.openRuns(),
  },
  { name: 'in a volume', script: leave('/vol'), off: [unfiltered] },
  {
    name: 'in a directory whose descriptor a user passes',
    script: `perl -e '${receive}'`,
    off: [unfiltered],
  },
  ...(
    [
      ['open', '2, $path, 0101, 04755'],
      ['creat', '85, $path, 04755'],
      ['mknod', '133, $path, 0104755, 0'],
      ['openat', '257, -100, $path, 0101, 04755'],
      ['mknodat', '259, -100, $path, 0104755, 0'],
      ['openat2', '437, -100, $path, $how, 24'],
    ] as const
  ).map(
    ([call, words]): SetuidAttack => ({
      name: `that ${call} created`,
      script: created(words),
      capabilities: fsetid,
      off: [unfiltered],
      rootOnly: true,
    }),
  ),
];
