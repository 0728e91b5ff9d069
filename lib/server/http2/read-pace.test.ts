import type { Socket } from 'node:net';
import { expect } from 'chai';
import type { Output } from './output.js';
import { type ReadClock, ReadPace } from './read-pace.js';

describe('the data that a connection receives in one turn of the event loop', () => {
  let deferred: (() => void)[];
  let paused: boolean;
  let output: { isBacklogged: boolean };
  let nowMs: number;
  let clock: ReadClock;
  let pace: ReadPace;
  beforeEach(() => {
    deferred = [];
    paused = false;
    output = { isBacklogged: false };
    nowMs = 0;
    clock = { defer: (callback) => void deferred.push(callback), monotonic: () => nowMs };
    const socket = {
      pause: () => (paused = true),
      resume: () => (paused = false),
      isPaused: () => paused,
    } as unknown as Socket;
    pace = new ReadPace(socket, output as Output, clock, () => undefined);
  });
  const turn = (): void => {
    for (const callback of deferred.splice(0)) callback();
  };

  it('is at most 128 KiB and one read; the rest is read in the next turn', () => {
    for (let round = 0; round < 3; round += 1) {
      pace.read(Buffer.alloc(65_536));
      expect(paused).to.equal(false);
      pace.read(Buffer.alloc(65_536));
      expect(paused).to.equal(true);
      turn();
      expect(paused).to.equal(false);
    }
    turn();
    expect(deferred).to.deep.equal([]);
  });

  it('is counted separately for each turn', () => {
    for (let round = 0; round < 10; round += 1) {
      pace.read(Buffer.alloc(65_536));
      turn();
    }
    expect(paused).to.equal(false);
  });

  it('is followed by no further read while the client does not read its answers', () => {
    pace.read(Buffer.alloc(200_000));
    output.isBacklogged = true;
    turn();
    expect(paused).to.equal(true);
  });

  it('takes at most 8 ms for all connections; the rest is processed later in the order of arrival', () => {
    const taken: string[] = [];
    const pauses = new Map<string, boolean>();
    const connection = (name: string): ReadPace => {
      const socket = {
        pause: () => pauses.set(name, true),
        resume: () => pauses.set(name, false),
        isPaused: () => pauses.get(name) === true,
      } as unknown as Socket;
      return new ReadPace(socket, output as Output, clock, (bytes) => {
        taken.push(`${name}${bytes.length}`);
        nowMs += 3;
      });
    };
    const [a, b, c] = [connection('a'), connection('b'), connection('c')];
    for (const length of [1, 2]) for (const one of [a, b, c]) one.read(Buffer.alloc(length));
    expect(taken).to.deep.equal(['a1', 'b1', 'c1']);
    expect([...pauses]).to.deep.equal(['a', 'b', 'c'].map((name) => [name, true]));
    turn();
    // Data that arrives meanwhile does not overtake it.
    a.read(Buffer.alloc(3));
    expect(taken.slice(3)).to.deep.equal(['a2', 'b2', 'c2']);
    turn();
    expect(taken.slice(6)).to.deep.equal(['a3']);
    expect([...pauses.values()]).to.deep.equal([false, false, false]);
    turn();
    expect(deferred).to.deep.equal([]);
  });
});
