import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import type { ContainerRecords } from './container-records.js';
import { ContainerStops } from './container-stops.js';
import type { ContainerInspection, EngineContainers } from './engine/engine-containers.js';

describe('the stop of a container', () => {
  it('names the signal that was sent: that of its image, then SIGKILL', async () => {
    const clock = new FakeClock();
    const killed: string[] = [];
    const containers = {
      kill: (_id: string, name: string) => Promise.resolve(killed.push(name)),
    } as unknown as EngineContainers;
    const records = {
      stopAskedAt: () => Promise.resolve(undefined),
      askedToStop: () => Promise.resolve(),
    } as unknown as ContainerRecords;
    const stops = new ContainerStops({ containers, records, clock });
    const found = { id: 'c', name: 'web-0', stopSignal: 'SIGQUIT' } as ContainerInspection;
    const { signal } = new AbortController();
    const advance = async (): Promise<string | undefined> => {
      const progress = await stops.advance(
        { cluster: 'k', id: 'u', run: 1 },
        found,
        10_000,
        signal,
      );
      return progress.type === 'stopping' ? progress.sent : progress.type;
    };
    expect(await advance()).to.equal('SIGQUIT');
    expect(await advance()).to.equal('SIGQUIT');
    await clock.advance(10_000);
    expect(await advance()).to.equal('SIGKILL');
    expect(killed).to.deep.equal(['SIGQUIT', 'SIGKILL']);
  });

  it('sends SIGKILL again at each call after it had no effect, because the engine may have refused it', async () => {
    const clock = new FakeClock();
    let killed = 0;
    const containers = {
      // A paused container.
      kill: () => Promise.resolve(void (killed += 1)),
    } as unknown as EngineContainers;
    const records = {
      stopAskedAt: () => Promise.resolve(undefined),
      askedToStop: () => Promise.resolve(),
    } as unknown as ContainerRecords;
    const stops = new ContainerStops({ containers, records, clock });
    const found = { id: 'c', name: 'web-0', stopSignal: 'SIGTERM' } as ContainerInspection;
    const run = { cluster: 'k', id: 'u', run: 1 };
    const { signal } = new AbortController();
    await stops.advance(run, found, 0, signal);
    await clock.advance(10_000);
    for (const count of [2, 3]) {
      const error = await stops.advance(run, found, 0, signal).then(() => '', String);
      expect(error).to.contain('web-0');
      expect(killed).to.equal(count);
    }
  });

  const refused = async (code: string): Promise<{ killed: string[]; error: unknown }> => {
    const killed: string[] = [];
    const containers = {
      kill: (_id: string, name: string) => Promise.resolve(killed.push(name)),
    } as unknown as EngineContainers;
    const failure = Object.assign(new Error(`${code}: write`), { code });
    const records = {
      stopAskedAt: () => Promise.resolve(undefined),
      askedToStop: () => Promise.reject(failure),
    } as unknown as ContainerRecords;
    const stops = new ContainerStops({ containers, records, clock: new FakeClock() });
    const found = { id: 'c', name: 'web-0', stopSignal: 'SIGTERM' } as ContainerInspection;
    const { signal } = new AbortController();
    const error: unknown = await stops
      .advance({ cluster: 'k', id: 'u', run: 1 }, found, 0, signal)
      .then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
    return { killed, error };
  };

  for (const code of ['ENOSPC', 'EDQUOT'])
    it(`does not wait for its record, which a full disk refuses with ${code}`, async () => {
      expect(await refused(code)).to.deep.equal({ killed: ['SIGKILL'], error: undefined });
    });

  for (const code of ['EACCES', 'EIO'])
    it(`reports a record that can't be written because of ${code}`, async () => {
      const { killed, error } = await refused(code);
      expect(String(error)).to.contain(code);
      expect(killed).to.deep.equal([]);
    });
});
