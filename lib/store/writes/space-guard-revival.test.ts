import { expect } from 'chai';
import { StatusError } from '../../base/index.js';
import { type ApiObject, defineKind } from '../../object/index.js';
import { FakeClock, settle } from '../../testing/index.js';
import { MemoryEngine, openStore, type Operation } from '../index.js';

interface Thing extends ApiObject {
  readonly text?: string;
}
const things = defineKind<Thing>({
  kind: 'Thing',
  plural: 'things',
  scope: 'Cluster',
  statusFields: [],
});
const floor = 64 * 1024 * 1024;

describe('a store that was reopened after a failed write', () => {
  it('counts the bytes of failed writes no more', async () => {
    const disk = { free: 2 * floor, isBroken: false };
    const engine = Object.assign(new MemoryEngine(), {
      freeBytes: () => Promise.resolve(disk.free),
      location: '/data',
      reserve: {
        held: () => Promise.resolve(floor / 2),
        layPiece: () => Promise.resolve(false),
        release: () => Promise.resolve(0),
      },
    });
    const append = engine.append.bind(engine);
    engine.append = (records) =>
      disk.isBroken ? Promise.reject(new Error('EIO')) : append(records);
    const clock = new FakeClock();
    const options = { engine, clock, freeBytesFloor: floor, reserveBytes: floor / 2 };
    await using store = await openStore(options);
    await clock.advance(10_000);
    const outcome = (write: Promise<unknown>): Promise<string> =>
      write.then(
        () => 'written',
        (error: unknown) => StatusError.from(error).reason,
      );
    // 20 MB more than what ordinary writes leave: the reserve, and 16 MiB.
    disk.free = floor / 4 + 20_000_000;
    await clock.advance(10_000);
    const create = (prefix: string, count: number): Promise<unknown> =>
      store.transact(
        Array.from({ length: count }, (_, n): Operation => {
          const object = { name: `${prefix}-${n}`, text: 'x'.repeat(1_000_000) } as Thing;
          return { op: 'create', kind: things, object };
        }),
      );
    disk.isBroken = true;
    const failed = [create('a', 8), create('b', 8)].map(outcome);
    await settle();
    disk.isBroken = false;
    expect(await Promise.all(failed)).to.not.include('written');
    expect(store.health().state).to.equal('poisoned');
    for (let n = 0; n < 10 && store.health().state !== 'serving'; n += 1) {
      await clock.advance(10_000);
      await settle();
    }
    expect(store.health().state).to.equal('serving');
    expect(await outcome(create('c', 8))).to.equal('written');
    await settle();
    expect(await outcome(create('d', 20))).to.equal('DiskFull');
  });
});
