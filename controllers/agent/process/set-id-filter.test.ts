import { expect } from 'chai';
import { setIdFilter } from './set-id-filter.js';

const allowed = 0x7fff_0000;
const refused = 0x0005_0001;
const absent = 0x0005_0026;

/** A call as the kernel shows it to a filter. */
interface Call {
  readonly audit: number;
  readonly number: number;
  readonly args?: readonly number[];
}

/** The action that a filter returns, by the rules of the kernel for classic BPF. */
function answerOf(filter: Buffer, { audit, number, args = [] }: Call): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(audit, 4);
  for (const [n, arg] of args.entries()) data.writeBigUInt64LE(BigInt(arg), 16 + 8 * n);
  let loaded = 0;
  for (let at = 0; ; at += 1) {
    const operand = filter.readUInt32LE(at * 8 + 4);
    const jump = (holds: boolean): number => filter.readUInt8(at * 8 + (holds ? 2 : 3));
    switch (filter.readUInt16LE(at * 8)) {
      case 0x20:
        loaded = data.readUInt32LE(operand);
        break;
      case 0x15:
        at += jump(loaded === operand);
        break;
      case 0x35:
        at += jump(loaded >= operand);
        break;
      case 0x45:
        at += jump((loaded & operand) !== 0);
        break;
      case 0x06:
        return operand;
      default:
        throw new Error(`instruction ${at} is unknown`);
    }
  }
}

/** Numbers of calls with the index of the mode, by the tables of the kernel; `open` ones have flags before it. */
const conventions = [
  {
    ...{ name: 'x86-64', architecture: 'x64', audit: 0xc000_003e },
    ...{ modes: { 85: 1, 90: 1, 91: 1, 133: 1, 259: 2, 268: 2, 452: 2 }, opens: { 2: 2, 257: 3 } },
  },
  {
    ...{ name: 'i386', architecture: 'x64', audit: 0x4000_0003 },
    ...{ modes: { 8: 1, 14: 1, 15: 1, 94: 1, 297: 2, 306: 2, 452: 2 }, opens: { 5: 2, 295: 3 } },
  },
  {
    ...{ name: 'arm64', architecture: 'arm64', audit: 0xc000_00b7 },
    ...{ modes: { 33: 2, 52: 1, 53: 2, 452: 2 }, opens: { 56: 3 } },
  },
  {
    ...{ name: 'arm', architecture: 'arm64', audit: 0x4000_0028 },
    ...{ modes: { 8: 1, 14: 1, 15: 1, 94: 1, 324: 2, 333: 2, 452: 2 }, opens: { 5: 2, 322: 3 } },
  },
] as const;

/** Arguments with a value at an index, and one before it. All bits of the others are set. */
const at = (index: number, value: number, before = 0xffff_ffff): number[] =>
  Array.from({ length: 6 }, (_, n) =>
    n === index ? value : n === index - 1 ? before : 0xffff_ffff,
  );

for (const { name, architecture, audit, modes, opens } of conventions)
  describe(`the filter of setuid programs for calls of ${name}`, () => {
    const filter = setIdFilter(architecture) ?? Buffer.alloc(0);
    const answers = (number: number, args?: readonly number[]): number =>
      answerOf(filter, { audit, number, ...(args && { args }) });

    it('refuses modes with the bits, and no other mode', () => {
      for (const [number, index] of Object.entries(modes))
        for (const [mode, expected] of [
          [0o4755, refused],
          [0o2755, refused],
          [0o106_000, refused],
          [0o1777, allowed],
          [0o100_644, allowed],
        ] as const)
          expect(answers(Number(number), at(index, mode)), `${number} ${mode}`).to.equal(expected);
    });

    it('reads the mode of an open only if it creates a file', () => {
      for (const [number, index] of Object.entries(opens)) {
        const open = (flags: number, mode: number) =>
          answers(Number(number), at(index, mode, flags));
        expect(open(0o101, 0o4755)).to.equal(refused);
        expect(open(0o20_200_001, 0o2711)).to.equal(refused);
        expect(open(0o101, 0o1755)).to.equal(allowed);
        expect(open(0o200_002, 0o4755)).to.equal(allowed);
      }
    });

    it('hides calls whose mode it can’t read, and allows others', () => {
      for (const number of [425, 437, 0x4000_005a]) expect(answers(number)).to.equal(absent);
      expect(answers(0)).to.equal(allowed);
    });

    it('allows no call of an architecture that it does not know', () => {
      expect(answerOf(filter, { audit: 0x8000_0016, number: 0 })).to.equal(absent);
    });
  });

it('an architecture without a table has no filter of setuid programs', () => {
  expect(setIdFilter('riscv64')).to.equal(undefined);
});
