import { expect } from 'chai';
import { DriverError } from '@kedge/driver-sdk';
import { FakeClock, RecordingLogger } from 'kedge/testing';
import { type IsAttached, LeftoverMounts } from './leftover-mounts.js';
import type { NodeVolumes, VolumeMountPoint } from './node-volumes.js';

const { signal } = new AbortController();
const staging = (uid: string): VolumeMountPoint => ({ target: `/m/${uid}`, uid });
const bind = (uid: string, claim: string): VolumeMountPoint => ({
  target: `/m/binds/${uid}/${claim.replace('/', '+')}/data`,
  uid,
  claim,
});

describe('mounts that the store does not account for', () => {
  let mounts: readonly VolumeMountPoint[];
  let refused: string | undefined;
  let leftovers: LeftoverMounts;
  let logger: RecordingLogger;
  const targets = (): readonly string[] => mounts.map(({ target }) => target);
  const node = {
    mounted: () => Promise.resolve(mounts),
    unmount: ({ target }: VolumeMountPoint) => {
      if (target === refused) return Promise.reject(new DriverError('InUse', `${target} is used`));
      mounts = mounts.filter((mount) => mount.target !== target);
      return Promise.resolve();
    },
  } as unknown as NodeVolumes;
  const attached =
    (...pairs: readonly string[]): IsAttached =>
    (uid, claim) =>
      pairs.some((pair) =>
        claim === undefined ? pair.startsWith(`${uid} `) : pair === `${uid} ${claim}`,
      );
  const runs =
    (...claims: readonly string[]) =>
    (claim: string) =>
      Promise.resolve(claims.includes(claim));

  beforeEach(() => {
    refused = undefined;
    logger = new RecordingLogger();
    leftovers = new LeftoverMounts({ node, logger, clock: new FakeClock() });
    mounts = [
      bind('u', 'a/x-0'),
      bind('u', 'a/y-0'),
      bind('w', 'a/x-0'),
      staging('u'),
      staging('w'),
    ];
  });

  it('are kept while the workload that was started with them runs, and others are removed', async () => {
    await leftovers.sort(attached(), runs('a/x-0'), signal);
    expect(targets()).to.have.members([
      '/m/binds/u/a+x-0/data',
      '/m/binds/w/a+x-0/data',
      '/m/u',
      '/m/w',
    ]);
    expect([leftovers.has('a/x-0'), leftovers.has('a/y-0')]).to.deep.equal([true, false]);
    await leftovers.remove('a/x-0', attached(), signal);
    expect(targets()).to.deep.equal([]);
    expect(leftovers.has('a/x-0')).to.equal(false);
  });

  it('are removed while other mounts of the same volume are kept', async () => {
    const isAttached = attached('u a/y-0');
    expect(await leftovers.sort(isAttached, runs('a/x-0'), signal)).to.deep.equal(['u']);
    await leftovers.remove('a/x-0', isAttached, signal);
    expect(targets()).to.have.members(['/m/binds/u/a+y-0/data', '/m/u']);

    mounts = [bind('u', 'a/x-0'), bind('u', 'a/y-0'), staging('u')];
    await leftovers.sort(attached(), runs('a/x-0', 'a/y-0'), signal);
    await leftovers.remove('a/x-0', attached(), signal);
    expect(targets()).to.have.members(['/m/binds/u/a+y-0/data', '/m/u']);
  });

  it('are known until they are removed', async () => {
    await leftovers.sort(attached(), runs('a/x-0'), signal);
    refused = '/m/u';
    const error: unknown = await leftovers
      .remove('a/x-0', attached(), signal)
      .catch((e: unknown) => e);
    expect(String(error)).to.contain('/m/u is used');
    expect(leftovers.has('a/x-0')).to.equal(true);
    refused = undefined;
    await leftovers.removeUnused(new Set(['a/x-0']), attached(), 1_000);
    expect(targets()).to.include('/m/u');
    await leftovers.removeUnused(new Set(), attached(), 1_000);
    expect(targets()).to.deep.equal([]);
  });
});
