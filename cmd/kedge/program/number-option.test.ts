import { expect } from 'chai';
import { Command } from 'commander';
import { StatusError } from 'kedge';
import { addCast } from '../commands/objects/cast.js';
import { addDelete } from '../commands/objects/delete.js';
import { addLogs } from '../commands/workloads/logs.js';
import { exitCodeOf, exitCodes } from './exit-codes.js';
import { wholeNumber } from './number-option.js';

describe('numeric options of kedge', () => {
  it('are whole numbers within their range', () => {
    const parse = wholeNumber('--tail', 100);
    expect(['0', '7', '100'].map(parse)).to.deep.equal([0, 7, 100]);
    for (const text of ['', ' ', 'x', '-1', '101', '1.5', '1e1', '0x1', 'NaN', 'Infinity'])
      expect(() => parse(text), text).to.throw(StatusError, `--tail: ${JSON.stringify(text)} must`);
  });

  const refused: readonly (readonly [...string[]])[] = [
    ['logs', 'web-0', '--tail', 'x'],
    ['logs', 'web-0', '--tail=-3'],
    ['logs', 'web-0', '--tail', '2147483648'],
    ['cast', 'absent.yaml', '--timeout', 'x'],
    ['cast', 'absent.yaml', '--timeout=-1'],
    ['cast', 'absent.yaml', '--timeout', '2147484'],
    ['delete', 'volume', 'data', '--timeout', '5m'],
  ];
  for (const words of refused)
    it(`are refused with the name of the option before any request: ${words.join(' ')}`, async () => {
      const program = new Command().exitOverride();
      for (const add of [addCast, addDelete, addLogs]) add(program);
      const error = await program.parseAsync(words, { from: 'user' }).catch((e: unknown) => e);
      expect(error).to.be.instanceOf(StatusError);
      expect(String(error)).to.match(/--(tail|timeout): ".*" must be a whole number from 0 to/);
      expect(exitCodeOf(error)).to.equal(exitCodes.validation);
    });
});
