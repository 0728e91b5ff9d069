import { expect } from 'chai';
import fc from 'fast-check';
import { FairQueue } from './fair-queue.js';

/** A reference implementation that searches all owners each time. */
class Model {
  items: { readonly owner: string; readonly item: number }[] = [];
  readonly #itemsMax: number;

  constructor(itemsMax: number) {
    this.#itemsMax = itemsMax;
  }

  push(owner: string, item: number): number | undefined {
    this.items.push({ owner, item });
    if (this.items.length <= this.#itemsMax) return undefined;
    const counts = new Map<string, number>();
    for (const one of this.items) counts.set(one.owner, (counts.get(one.owner) ?? 0) + 1);
    const most = Math.max(...counts.values());
    return counts.get(owner) === most ? this.#remove(owner) : undefined;
  }

  /** Compares the results also if several owners have the most items. */
  follow(item: number): void {
    const owner = this.items.find((one) => one.item === item)!.owner;
    const counts = (of: string) => this.items.filter((one) => one.owner === of).length;
    const most = Math.max(...this.items.map((one) => counts(one.owner)));
    expect(counts(owner)).to.equal(most);
    expect(this.#remove(owner)).to.equal(item);
  }

  #remove(owner: string): number {
    const at = this.items.findIndex((one) => one.owner === owner);
    return this.items.splice(at, 1)[0]!.item;
  }
}

describe('fair queue', () => {
  it('removes the oldest item of an owner with the most, preferring the owner of the new item', () => {
    const owners = fc.constantFrom('a', 'b', 'c', 'd');
    fc.assert(
      fc.property(
        fc.array(owners, { maxLength: 80 }),
        fc.integer({ min: 1, max: 9 }),
        (added, max) => {
          const queue = new FairQueue<number>({ itemsMax: max, ownersMax: 4 });
          const model = new Model(max);
          added.forEach((owner, item) => {
            const removed = queue.push(owner, item);
            const expected = model.push(owner, item);
            if (expected !== undefined) expect(removed).to.equal(expected);
            else if (removed !== undefined) model.follow(removed);
            expect(queue.length).to.equal(model.items.length);
          });
          expect(queue.drain()).to.deep.equal(model.items.map(({ item }) => item));
          expect(queue.length).to.equal(0);
          expect(queue.push('a', 1)).to.equal(undefined);
          expect(queue.drain()).to.deep.equal([1]);
        },
      ),
    );
  });

  it('owners beyond the number of lanes share one, and displace no items of the others', () => {
    const queue = new FairQueue<string>({ itemsMax: 10, ownersMax: 2 });
    for (let n = 0; n < 3; n += 1) {
      queue.push('a', `a${n}`);
      queue.push('b', `b${n}`);
    }
    for (let n = 0; n < 100; n += 1) queue.push(`stranger ${n}`, `s${n}`);
    const left = queue.drain();
    expect(left.filter((item) => !item.startsWith('s'))).to.deep.equal([
      'a0',
      'b0',
      'a1',
      'b1',
      'a2',
      'b2',
    ]);
    expect(left.slice(6)).to.deep.equal(['s96', 's97', 's98', 's99']);
  });

  it('a flood of a million items displaces no items of others, and removes one item per push', () => {
    const queue = new FairQueue<number>({ itemsMax: 50_000, ownersMax: 8 });
    for (let n = 0; n < 100; n += 1) queue.push('quiet', -n);
    let removed = 0;
    for (let n = 1; n <= 1_000_000; n += 1) if (queue.push('loud', n) !== undefined) removed += 1;
    expect(removed).to.equal(950_100);
    expect(queue.drain().filter((n) => n <= 0).length).to.equal(100);
  });
});
