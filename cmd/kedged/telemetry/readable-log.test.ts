import { expect } from 'chai';
import { readableLine } from './readable-log.js';

describe('a log line on a terminal', () => {
  it('is time of day, level, message and fields, quoted where necessary', () => {
    const line = {
      level: 40,
      time: '2026-11-23T21:44:02.606Z',
      grpc: 7863,
      node: 'vm',
      error: 'disk is "full"',
      tags: ['a'],
      msg: 'ready',
    };
    expect(readableLine(`${JSON.stringify(line)}\n`)).to.equal(
      '21:44:02 warn  ready grpc=7863 node=vm error="disk is \\"full\\"" tags=["a"]\n',
    );
  });

  it('escapes control characters of a field, so that no field adds a line or a color', () => {
    const line = { level: 30, time: '2026-11-23T21:44:02.606Z', msg: 'x', name: 'a\n\u001b[31m' };
    expect(readableLine(JSON.stringify(line))).to.equal(
      '21:44:02 info  x name="a\\n\\u001b[31m"\n',
    );
  });

  it('escapes control characters of a field without spaces and of the message', () => {
    const line = {
      level: 30,
      time: '2026-11-23T21:44:02.606Z',
      msg: 'x\u001b[2J',
      name: 'a\u009b1m',
    };
    expect(readableLine(JSON.stringify(line))).to.equal(
      '21:44:02 info  x\\u001b[2J name="a\\u009b1m"\n',
    );
  });

  it('that is not JSON is unchanged', () => {
    expect(readableLine('trouble\n')).to.equal('trouble\n');
  });
});
