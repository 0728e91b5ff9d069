import { expect } from 'chai';
import { MemoryEngine, openStore, silentLogger } from 'kedge';
import { FakeClock } from 'kedge/testing';
import { events } from '../../../event/kind.js';
import { nodes } from '../../../node/kind.js';
import { defaultPolicy } from '../../../policy/policy.js';
import { ImageDisk } from './image-disk.js';
import type { NodeImage, NodeImages, PruneRequest } from './node-images.js';

describe('the disk of images', () => {
  let clock: FakeClock;
  let store: Awaited<ReturnType<typeof openStore>>;
  beforeEach(async () => {
    clock = new FakeClock();
    store = await openStore({ engine: new MemoryEngine(), clock });
    await store.create(nodes, { name: 'n' });
  });
  afterEach(() => store.close());

  /** Checks a disk whose use falls by 10 % with each removed image. Returns the removed ones. */
  async function checked(percent: number, unneeded: readonly string[]): Promise<readonly string[]> {
    let used = percent;
    const removed: string[] = [];
    const images = {
      node: 'n',
      async prune(_signal: AbortSignal, { wants }: PruneRequest) {
        const gone: Partial<NodeImage>[] = [];
        for (const tag of unneeded) {
          if (!(await wants?.())) continue;
          used -= 10;
          removed.push(tag);
          gone.push({ tags: [tag], id: `sha256:${tag}` });
        }
        return gone;
      },
    } as unknown as NodeImages;
    const disk = new ImageDisk({
      store,
      images,
      directory: () => Promise.resolve('/images'),
      highPercent: 85,
      clock,
      logger: silentLogger,
      policy: defaultPolicy,
      usedPercent: () => Promise.resolve(used),
    });
    await disk.check();
    await disk.stop();
    return removed;
  }
  const eventReasons = async (): Promise<readonly (string | undefined)[]> =>
    (await store.list(events)).items.map(({ reason }) => reason).sort();

  it('has no images removed up to the limit', async () => {
    expect(await checked(85, ['a'])).to.deep.equal([]);
    expect(await eventReasons()).to.deep.equal([]);
  });

  it('images are removed, the oldest first, until it is below the limit, and an event lists them', async () => {
    expect(await checked(99, ['a', 'b', 'c'])).to.deep.equal(['a', 'b']);
    const { items } = await store.list(events);
    expect(items.map(({ message }) => message)).to.deep.equal([
      'the disk of /images is more than 85 % full: 2 unused images removed: a, b',
    ]);
    expect(items[0]?.regarding).to.include({ kind: 'Node', name: 'n' });
  });

  it('that stays too full is reported by a warning with further remedies', async () => {
    expect(await checked(99, ['a'])).to.deep.equal(['a']);
    expect(await eventReasons()).to.deep.equal(['ImageDiskFull', 'ImagesPruned']);
  });
});
