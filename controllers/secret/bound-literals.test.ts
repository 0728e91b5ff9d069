import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import type { Lister } from 'kedge';
import { settle } from 'kedge/testing';
import { snapshots } from '../snapshot/kind.js';
import { storageClasses } from '../storage-class/kind.js';
import { volumes } from '../volume/kind.js';
import type { Secret } from './kind.js';
import { StorageWorld } from '../testing/storage-world.js';
import { parameterResolver, rebindParameters, sealParameters } from './parameters.js';
import { sealedValuesIn } from './sealed-values.js';
import { holderOf, sealedBody, Sealer, unboundPlace } from './sealer.js';

const sealer = new Sealer(randomBytes(32));
const resolver = parameterResolver({ get: () => undefined } as unknown as Lister<Secret>, sealer);
const mine = holderOf(volumes, { namespace: 'default', name: 'mine' });
const theirs = holderOf(volumes, { namespace: 'default', name: 'theirs' });
const sealedFor = (holder: typeof mine, token: string): { readonly token: string } => {
  const sealed = sealParameters(
    { token },
    { sealer, holder, sensitive: ['token'], stored: undefined, field: '' },
  );
  return { token: sealed?.['token'] ?? '' };
};

describe('a sealed parameter', () => {
  it('opens for the object that it was sealed for, and for no other of its kind, namespace or name', () => {
    const parameters = sealedFor(mine, 't0p');
    expect(resolver.resolve(parameters, mine)).to.deep.equal({ token: 't0p' });
    const others = [
      theirs,
      { ...mine, namespace: 'other' },
      holderOf(snapshots, { namespace: 'default', name: 'mine' }),
      holderOf(storageClasses, { name: 'mine' }),
    ];
    for (const other of others)
      expect(() => resolver.resolve(parameters, other)).to.throw('changed or moved');
    expect(() => resolver.resolve({ other: parameters.token }, mine)).to.throw('changed or moved');
  });

  it('of another object is an ordinary text in a write', () => {
    const copied = sealedFor(mine, 't0p');
    const written = sealedFor(theirs, copied.token);
    expect(resolver.resolve(written, theirs)).to.deep.equal(copied);
  });

  it('that a controller copies opens for the copy alone, and is still the same value', () => {
    const original = sealedFor(mine, 't0p');
    const copy = rebindParameters(sealer, original, mine, theirs);
    expect(resolver.resolve(copy, theirs)).to.deep.equal({ token: 't0p' });
    expect(() => resolver.resolve(copy, mine)).to.throw('changed or moved');
    expect(sealedBody(copy['token'] ?? '')).to.equal(sealedBody(original.token));
  });

  it('of an earlier release opens, and belongs to its object once it is sealed again', () => {
    const token = sealer.seal('t0p', unboundPlace('token'));
    expect(resolver.resolve({ token }, mine)).to.deep.equal({ token: 't0p' });
    const fresh = sealer.reseal(token, { holder: mine, key: 'token' });
    expect(resolver.resolve({ token: fresh }, mine)).to.deep.equal({ token: 't0p' });
    expect(() => resolver.resolve({ token: fresh }, theirs)).to.throw('changed or moved');
  });

  it('of a class is captured for the volume, and of a volume for its snapshot', async () => {
    const world = await StorageWorld.start();
    try {
      const ofClass = holderOf(storageClasses, { name: 'sealed' });
      const token = world.sealer.seal('t0p', { holder: ofClass, key: 'token' });
      await world.store.create(storageClasses, {
        name: 'sealed',
        driver: 'played',
        reclaimPolicy: 'delete',
        parameters: { token },
      });
      await world.createVolume({ storageClassName: 'sealed' });
      await world.store.create(snapshots, {
        namespace: 'default',
        name: 's',
        source: { volume: 'v' },
      });
      await settle();
      expect(world.driver.tokens).to.deep.equal([
        ['provision', 't0p'],
        ['createSnapshot', 't0p'],
      ]);
      const volume = await world.volume();
      const snapshot = await world.store.get(snapshots, { namespace: 'default', name: 's' });
      for (const [kind, object] of [
        [volumes, volume],
        [snapshots, snapshot],
      ] as const) {
        const values = object ? sealedValuesIn(kind.kind, object) : [];
        expect(values, kind.kind).to.have.length(1);
        for (const { sealed, place } of values) {
          expect(world.sealer.isBoundTo(sealed, place), kind.kind).to.equal(true);
          expect(world.sealer.open(sealed, place)).to.equal('t0p');
        }
      }
    } finally {
      await world.stop();
    }
  });
});
