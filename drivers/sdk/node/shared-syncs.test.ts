import { expect } from 'chai';
import { SharedSyncs } from './replace-file.js';

describe('syncs of folders', () => {
  const ends: { readonly end: () => void; readonly fail: (error: Error) => void }[] = [];
  const syncs = new SharedSyncs(
    () => new Promise<void>((end, fail) => void ends.push({ end, fail })),
  );
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  beforeEach(() => void ends.splice(0));

  it('calls during a sync share the next one, which begins after them', async () => {
    const ended: string[] = [];
    const call = (name: string): void => void syncs.sync('/f').then(() => ended.push(name));
    for (const name of ['a', 'b', 'c']) call(name);
    await turn();
    expect(ends, 'one runs').to.have.length(1);
    ends[0]?.end();
    await turn();
    expect(ended).to.deep.equal(['a']);
    expect(ends, 'b and c share one').to.have.length(2);
    call('d');
    ends[1]?.end();
    await turn();
    expect(ended).to.deep.equal(['a', 'b', 'c']);
    ends[2]?.end();
    await turn();
    expect(ended).to.deep.equal(['a', 'b', 'c', 'd']);
  });

  it('other folders do not wait, and a failure reaches exactly the callers of its sync', async () => {
    const outcome = (path: string): Promise<string> =>
      syncs.sync(path).then(() => 'synced', String);
    const first = outcome('/f');
    const second = outcome('/f');
    const third = outcome('/f');
    const other = outcome('/g');
    expect(ends).to.have.length(2);
    ends[1]?.end();
    expect(await other).to.equal('synced');
    ends[0]?.end();
    expect(await first).to.equal('synced');
    await turn();
    ends[2]?.fail(new Error('EIO'));
    expect([await second, await third]).to.deep.equal(['Error: EIO', 'Error: EIO']);
    const later = outcome('/f');
    ends[3]?.end();
    expect(await later).to.equal('synced');
  });
});
