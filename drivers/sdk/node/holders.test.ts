import { expect } from 'chai';
import { describeHolders, type Holder, type Holders, joinHolders } from './holders.js';

describe('holders from several sources', () => {
  const source = (...holders: readonly Holder[]): Holders => ({
    holders: () => Promise.resolve(holders),
  });
  const shell: Holder = { type: 'files', pid: 7, command: 'sh' };
  const container: Holder = { type: 'other', name: 'container web', remedy: 'stop it' };

  it('are all listed once', async () => {
    const joined = joinHolders(source(), source(shell), source(container, shell));
    expect(await joined.holders({ directory: '/data' })).to.deep.equal([shell, container]);
  });

  it('are unknown if one of the sources fails', async () => {
    const broken: Holders = { holders: () => Promise.reject(new Error('unreadable')) };
    const asked: unknown = await joinHolders(source(shell), broken)
      .holders({ device: '/dev/loop3' })
      .catch((error: unknown) => error);
    expect(String(asked)).to.contain('unreadable');
  });

  it('of which one is process 1: the remedy is to unmount, not to end the process', () => {
    const mount = { type: 'mount', command: 'systemd', target: '/data/v', here: false } as const;
    expect(describeHolders([{ ...mount, pid: 1 }])).to.contain(
      'unmount it there (nsenter --target 1 --mount umount /data/v)',
    );
    expect(describeHolders([{ ...mount, pid: 7 }])).to.contain('end the process');
  });
});
