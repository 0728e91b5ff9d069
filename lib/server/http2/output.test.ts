import type { Socket } from 'node:net';
import { expect } from 'chai';
import { FakeClock } from '../../testing/index.js';
import { Budget } from './budget.js';
import { ConnectionError } from './frames.js';
import { Output } from './output.js';

describe('answers to frames such as PING', () => {
  it('are counted until the socket has taken them, regardless of its other writes', () => {
    const written: (() => void)[] = [];
    const deferred: (() => void)[] = [];
    const socket = {
      writableLength: 0,
      on: () => undefined,
      pause: () => undefined,
      write: (_bytes: Buffer, callback: () => void) => written.push(callback),
    } as unknown as Socket;
    const clock = { defer: (callback: () => void) => void deferred.push(callback) };
    const output = new Output(
      socket,
      clock,
      () => undefined,
      new Budget(new FakeClock(), 'things'),
    );
    const replies = (count: number): void => {
      for (let n = 0; n < count; n += 1) output.reply(Buffer.alloc(1));
      for (const callback of deferred.splice(0)) callback();
    };
    replies(900);
    replies(100);
    expect(() => output.reply(Buffer.alloc(1))).to.throw(ConnectionError);
    for (const callback of written.splice(0)) callback();
    replies(990);
    expect(() => replies(10)).to.throw(ConnectionError);
  });
});
