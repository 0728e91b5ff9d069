import { address, message } from './setuid-attacks.js';

/** Use of a descriptor of a directory of the machine, which a user of the machine passed to a workload. */
export interface DescriptorAttack {
  readonly name: string;
  /**
   * An expression of perl on x86-64 that is true if the attack succeeds. `$fd` is the descriptor; $TARGET is the path
   * from there to a directory with {@link targets}, files of mode 600 of one user, and with a socket of that user.
   */
  readonly script: string;
}

/** Files that the attacks need. */
export const targets = [
  ...['secret', 'written', 'emptied', 'cut', 'renamed', 'removed', 'opened', 'reached', 'listed'],
  'program',
];

const at = (name: string): string => `my $p = "$ENV{TARGET}/${name}"`;
const through = (name: string): string => `my $p = "/proc/self/fd/$fd/$ENV{TARGET}/${name}"`;
const succeeds = (call: string): string => `syscall(${call}) >= 0`;
/** In a process of its own, because it changes the directory. */
const inside = (script: string): string =>
  `my $pid = fork(); if (!$pid) { syscall(81, $fd) == 0 or POSIX::_exit(1); POSIX::_exit((${script}) ? 0 : 1) } waitpid($pid, 0); $? == 0`;
const unix = (path: string): string => `socket(U, 1, 1, 0) && connect(U, pack("Sa*x", 1, ${path}))`;

/** Attacks that Landlock refuses on every kernel that has it. */
export const contentAttacks: readonly DescriptorAttack[] = [
  { name: 'read', script: `${at('secret')}; ${succeeds('257, $fd, $p, 0, 0')}` },
  { name: 'list', script: `${at('closed')}; ${succeeds('257, $fd, $p, 0200000, 0')}` },
  { name: 'write', script: `${at('written')}; ${succeeds('257, $fd, $p, 1, 0')}` },
  { name: 'empty', script: `${at('emptied')}; ${succeeds('257, $fd, $p, 01001, 0')}` },
  { name: 'cut', script: `${through('cut')}; ${succeeds('76, $p, 0')}` },
  { name: 'create', script: `${at('created')}; ${succeeds('257, $fd, $p, 0101, 0644')}` },
  { name: 'make a directory', script: `${at('made')}; ${succeeds('258, $fd, $p, 0755')}` },
  { name: 'make a FIFO', script: `${at('fifo')}; ${succeeds('259, $fd, $p, 010644, 0')}` },
  {
    name: 'rename',
    script: `${at('renamed')}; my $q = "$p-away"; ${succeeds('264, $fd, $p, $fd, $q')}`,
  },
  {
    name: 'link',
    script: `${at('secret')}; my $q = "$p-link"; ${succeeds('265, $fd, $p, $fd, $q, 0')}`,
  },
  {
    name: 'link symbolically',
    script: `${at('symbolic')}; my $to = "x"; ${succeeds('266, $to, $fd, $p')}`,
  },
  { name: 'remove', script: `${at('removed')}; ${succeeds('263, $fd, $p, 0')}` },
  {
    name: 'execute',
    script: `${through('program')}; system({ $p } $p) == 0`,
  },
  { name: 'enter and read', script: inside('open(F, "<", "$ENV{TARGET}/secret")') },
];

/** Attacks that Landlock refuses on no kernel. */
export const modeAttacks: readonly DescriptorAttack[] = [
  { name: 'change the mode', script: `${at('opened')}; ${succeeds('268, $fd, $p, 0666')}` },
  {
    name: 'change the mode by a path',
    script: `${through('reached')}; ${succeeds('90, $p, 0644')}`,
  },
  {
    name: 'set an access list',
    script: `${through('listed')}; my $n = "system.posix_acl_access";
      my $list = pack("L(SSL)5", 2, 1, 6, -1, 2, 6, 54321, 4, 4, -1, 16, 6, -1, 32, 0, -1);
      ${succeeds('188, $p, $n, $list, length($list), 0')}`,
  },
];

/** Attacks that Landlock refuses since its ABI 9 (Linux 7.1). */
export const socketAttacks: readonly DescriptorAttack[] = [
  { name: 'connect', script: `${through('socket')}; ${unix('$p')}` },
  { name: 'enter and connect', script: inside(unix('"$ENV{TARGET}/socket"')) },
];

/** A program of perl that opens the path in the first line of a client with the flags there, and passes the result. */
export const passAny = `use Socket; $| = 1; socket(S, 1, 1, 0); bind(S, ${address}) or die;
  socket(P, 1, 1, 0); bind(P, pack("Sa*x", 1, $ENV{SOCKET})) or die; chmod 0666, $ENV{SOCKET};
  listen(S, 4); listen(P, 4); print "up\n";
  while (1) {
    my $in = ""; vec($in, fileno(S), 1) = 1; vec($in, fileno(P), 1) = 1; select($in, undef, undef, undef);
    accept(C, vec($in, fileno(S), 1) ? S : P) or next;
    my ($flags, $path) = split(/ /, scalar(<C>)); chomp $path;
    my $got = syscall(257, -100, $path, $flags + 0, 0); $got >= 0 or die "$path: $!";
    $control = pack("Qllix4", 20, 1, 1, $got);${message}
    syscall(46, fileno(C), $header, 0) > 0 or die; syscall(3, $got); close C;
  }`;

/** The socket of {@link passAny} that a workload uses: the abstract one, or one in its volume. */
export type Passage = 'an abstract socket' | 'a socket in a volume';

/**
 * A program of perl that gets a descriptor of $FROM, opened with `flags`, and prints a line for each attack that
 * succeeds with it.
 */
export function thief(
  attacks: readonly DescriptorAttack[],
  { flags, passage }: { readonly flags: number; readonly passage: Passage },
): string {
  const to = passage === 'an abstract socket' ? address : 'pack("Sa*x", 1, "/vol/socket")';
  const tried = attacks.map(
    ({ name, script }) => `print "reached: ${name}\n" if do { ${script} };`,
  );
  return `use Socket; use POSIX (); $| = 1; socket(S, 1, 1, 0); connect(S, ${to}) or die "connect: $!";
    syswrite(S, "${flags} $ENV{FROM}\n"); $control = "\\0" x 24;${message}
    syscall(47, fileno(S), $header, 0) > 0 or die; $fd = unpack("x16i", $control);
    ${tried.join('\n')} print "all tried\n";`;
}

/**
 * A program of perl that executes its arguments in a domain of Landlock, in which every right that ABI 7 or 9 has is
 * allowed below the root of the sandbox, and nowhere else. Without arguments it prints the ABI, 0 without Landlock.
 */
export const landlocked = `my $abi = syscall(444, 0, 0, 1); $abi = 0 if $abi < 0;
  if (!@ARGV) { print $abi; exit }
  my $rights = 2 ** ($abi < 9 ? 16 : 17) - 1; my $all = pack("Q", $rights);
  my $rules = syscall(444, $all, 8, 0); $rules >= 0 or die "rules: $!";
  opendir(D, "/") or die; my $below = pack("Qi", $rights, fileno(D));
  syscall(445, $rules, 1, $below, 0) == 0 or die "rule: $!";
  syscall(446, $rules, 0) == 0 or die "restrict: $!"; exec @ARGV`;
