import { expect } from 'chai';
import { endedByRestart } from './engine-starts.js';

describe('a container that ended while the engine was not watched', () => {
  const engine = 1_000_000_000;
  const end = (exitedAt: number, exitCode: number | undefined = 0, startedAt = engine - 900_000) =>
    endedByRestart({ startedAt, exitedAt, exitCode }, engine);

  it('was ended by its restart if it ended at the start of the engine or just before', () => {
    expect([end(engine + 5_000), end(engine - 1_000), end(engine - 29_000, 3)]).to.deep.equal([
      ...[true, true, true],
    ]);
  });

  it('was ended by the engine that was stopped long before if its exit code is that of a stop', () => {
    const before = engine - 600_000;
    expect([137, 143, 0, 1, undefined].map((code) => end(before, code ?? 255))).to.deep.equal([
      ...[true, true, false, false, false],
    ]);
  });

  it('ended by itself if it was started by this engine', () => {
    expect(end(engine + 60_000, 137, engine + 1_000)).to.equal(false);
  });
});
