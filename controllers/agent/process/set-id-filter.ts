import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { programPath } from '../launch/process-table.js';

/** An instruction of classic BPF: code, jumps if true and if false, operand. */
type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number];

/** The treatment of a system call. */
type Rule =
  /** Refused if the argument of this index has the bit of set-user-ID or set-group-ID. */
  | { readonly type: 'mode'; readonly index: number }
  /** The same, if the flags in the argument before create a file. */
  | { readonly type: 'create'; readonly index: number }
  | { readonly type: 'absent' };

type Rules = Readonly<Record<number, Rule>>;

/** The rules for one calling convention of the kernel, by numbers of system calls. */
interface Convention {
  /** The kernel's number of the architecture (AUDIT_ARCH in linux/audit.h). */
  readonly audit: number;
  readonly rules: Rules;
  /** Numbers from here on belong to another convention, and do not exist for the program. */
  readonly end: number;
}

const load = 0x20;
const equal = 0x15;
const notBelow = 0x35;
const anyBit = 0x45;
const answer = 0x06;
/** Answers of a filter: SECCOMP_RET_ALLOW, and SECCOMP_RET_ERRNO with EPERM and ENOSYS. */
const allowed = 0x7fff_0000;
const refused = 0x0005_0001;
const absent = 0x0005_0026;

const numberAt = 0;
const architectureAt = 4;
/** The lower half of an argument; both architectures are little-endian. */
const argumentAt = (index: number): number => 16 + 8 * index;
const setIdBits = 0o6000;
/** O_CREAT, and the bit that only O_TMPFILE has. */
const createBits = 0o100 | 0o20_000_000;

const mode = (index: number): Rule => ({ type: 'mode', index });
const create = (index: number): Rule => ({ type: 'create', index });
/**
 * Calls with the same number everywhere. io_uring_setup and openat2 do not exist for the program, because a filter
 * can't read a mode in memory; programs use openat instead of openat2 then. The third call is fchmodat2.
 */
const everywhere: Rules = {
  425: { type: 'absent' },
  437: { type: 'absent' },
  452: mode(2),
};

/** Conventions by the architecture of Node.js: of its own programs and of those of 32 bits. */
const conventions: Readonly<Partial<Record<string, readonly Convention[]>>> = {
  x64: [
    {
      audit: 0xc000_003e,
      // open, creat, chmod, fchmod, mknod, openat, mknodat, fchmodat
      rules: {
        ...everywhere,
        ...{ 2: create(2), 85: mode(1), 90: mode(1), 91: mode(1), 133: mode(1) },
        ...{ 257: create(3), 259: mode(2), 268: mode(2) },
      },
      end: 0x4000_0000,
    },
    {
      audit: 0x4000_0003,
      // open, creat, mknod, chmod, fchmod, openat, mknodat, fchmodat
      rules: {
        ...everywhere,
        ...{ 5: create(2), 8: mode(1), 14: mode(1), 15: mode(1), 94: mode(1) },
        ...{ 295: create(3), 297: mode(2), 306: mode(2) },
      },
      end: 0x4000_0000,
    },
  ],
  arm64: [
    {
      audit: 0xc000_00b7,
      // mknodat, fchmod, fchmodat, openat
      rules: { ...everywhere, 33: mode(2), 52: mode(1), 53: mode(2), 56: create(3) },
      end: 0x4000_0000,
    },
    {
      audit: 0x4000_0028,
      // open, creat, mknod, chmod, fchmod, openat, mknodat, fchmodat
      rules: {
        ...everywhere,
        ...{ 5: create(2), 8: mode(1), 14: mode(1), 15: mode(1), 94: mode(1) },
        ...{ 322: create(3), 324: mode(2), 333: mode(2) },
      },
      end: 0x4000_0000,
    },
  ],
};

function instructionsOf(rule: Rule): readonly Instruction[] {
  switch (rule.type) {
    case 'absent':
      return [[answer, 0, 0, absent]];
    case 'mode':
      return [
        [load, 0, 0, argumentAt(rule.index)],
        [anyBit, 0, 1, setIdBits],
        [answer, 0, 0, refused],
        [answer, 0, 0, allowed],
      ];
    case 'create': {
      const ofMode = instructionsOf(mode(rule.index));
      // Without one of the flags the mode is not read; the last instruction allows the call.
      return [
        [load, 0, 0, argumentAt(rule.index - 1)],
        [anyBit, 0, ofMode.length - 1, createBits],
        ...ofMode,
      ];
    }
  }
}

function blockOf({ audit, rules, end }: Convention): Instruction[] {
  const tests = Object.entries(rules).flatMap(([number, rule]): Instruction[] => {
    const then = instructionsOf(rule);
    return [[equal, 0, then.length, Number(number)], ...then];
  });
  const block: Instruction[] = [
    [load, 0, 0, numberAt],
    [notBelow, 0, 1, end],
    [answer, 0, 0, absent],
    ...tests,
    [answer, 0, 0, allowed],
  ];
  return [[equal, 0, block.length, audit], ...block];
}

/**
 * A filter of system calls (seccomp) with which a program can't set the bit of set-user-ID or set-group-ID of a file,
 * in the format of the kernel; undefined for an architecture without a table. Without it a program could do so in any
 * directory that it reaches, also by a descriptor that a user of the machine passes to it.
 * @param architecture as in `process.arch`
 */
export function setIdFilter(architecture: string): Buffer | undefined {
  const blocks = conventions[architecture]?.flatMap(blockOf);
  if (blocks === undefined) return undefined;
  // Other architectures run no program here.
  const whole: readonly Instruction[] = [
    [load, 0, 0, architectureAt],
    ...blocks,
    [answer, 0, 0, absent],
  ];
  const buffer = Buffer.alloc(whole.length * 8);
  for (const [n, [code, ifTrue, ifFalse, operand]] of whole.entries()) {
    buffer.writeUInt16LE(code, n * 8);
    buffer.writeUInt8(ifTrue, n * 8 + 2);
    buffer.writeUInt8(ifFalse, n * 8 + 3);
    buffer.writeUInt32LE(operand, n * 8 + 4);
  }
  return buffer;
}

/** Numbers of prctl(2). */
const prctl: Readonly<Partial<Record<string, number>>> = { x64: 157, arm64: 167 };

/**
 * A program of perl(1) that sets a filter (PR_SET_SECCOMP) and executes a command: no program of util-linux before 2.41
 * can. Its arguments are the number of prctl, the filter and the command. no_new_privs is set before.
 */
const setter =
  'my ($n, $f) = (shift() + 0, pack("H*", shift)); my $p = pack("S x6 P", length($f) / 8, $f); syscall($n, 22, 2, $p) == 0 or print STDERR "kedge: this kernel has no filter of system calls ($!): the workload can leave setuid programs in its volumes\\n"; exec { $ARGV[0] } @ARGV or exit 126';

/** The words before the command of a workload that apply {@link setIdFilter} to it; empty where this node can't. */
export function filterWords(): readonly string[] {
  const filter = setIdFilter(process.arch);
  const call = prctl[process.arch];
  const perl = programPath
    .split(':')
    .map((folder) => join(folder, 'perl'))
    .find((path) => existsSync(path));
  if (filter === undefined || call === undefined || perl === undefined) return [];
  return [perl, '-e', setter, String(call), filter.toString('hex')];
}
