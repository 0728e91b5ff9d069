import type { Socket } from 'node:net';
import { expect } from 'chai';
import type { Output } from './output.js';
import { ReadPace } from './read-pace.js';

describe('what a connection receives in one turn of the event loop', () => {
  let deferred: (() => void)[];
  let paused: boolean;
  let output: { isBacklogged: boolean };
  let pace: ReadPace;
  beforeEach(() => {
    deferred = [];
    paused = false;
    output = { isBacklogged: false };
    const socket = {
      pause: () => (paused = true),
      resume: () => (paused = false),
      isPaused: () => paused,
    };
    pace = new ReadPace(socket as unknown as Socket, output as Output, {
      defer: (callback) => void deferred.push(callback),
    });
  });
  const turn = (): void => {
    for (const callback of deferred.splice(0)) callback();
  };

  it('is at most 128 KiB and one read; the rest is read in the next turn', () => {
    for (let round = 0; round < 3; round += 1) {
      pace.read(65_536);
      expect(paused).to.equal(false);
      pace.read(65_536);
      expect(paused).to.equal(true);
      turn();
      expect(paused).to.equal(false);
    }
    turn();
    expect(deferred).to.deep.equal([]);
  });

  it('is counted for each turn', () => {
    for (let round = 0; round < 10; round += 1) {
      pace.read(65_536);
      turn();
    }
    expect(paused).to.equal(false);
  });

  it('is not read on while the client does not read its answers', () => {
    pace.read(200_000);
    output.isBacklogged = true;
    turn();
    expect(paused).to.equal(true);
  });
});
