import { expect } from 'chai';
import type { ApiParts, CallContext } from 'kedge/server';
import type { DriverRegistry } from '@kedge/driver-sdk';
import type { Sealer } from '../secret/index.js';
import { snapshotVerbs } from './verbs.js';

describe('a retry of a snapshot', () => {
  const refusal = async (snapshot: object): Promise<unknown> => {
    const stored = { namespace: 'dev', name: 's', metadata: {}, ...snapshot };
    const parts = { store: { get: () => Promise.resolve(stored) } } as unknown as ApiParts;
    const retry = snapshotVerbs(parts, {} as DriverRegistry, {} as Sealer).find(({ id }) =>
      id.endsWith('.Retry'),
    );
    if (retry?.handler.type !== 'unary') throw new TypeError('no method');
    return Promise.resolve(
      retry.handler.call({} as CallContext, { namespace: 'dev', name: 's' }),
    ).catch((error: unknown) => error);
  };

  it('is refused for one that did not fail', async () => {
    expect(await refusal({ status: 'Ready', handle: 'h' })).to.include({
      reason: 'NotFailed',
      message: 'snapshot "dev/s" is Ready; only a snapshot whose creation failed can be retried',
    });
  });

  it('S12, S13: is refused for one that was created and failed later, with what to do instead', async () => {
    const failed = { status: 'Failed', handle: 'h' };
    expect(await refusal(failed)).to.include({
      reason: 'Provisioned',
      message:
        'snapshot "dev/s" was created as h and is not created again; delete it, and create another one',
    });
    const deleting = { ...failed, metadata: { deletionRequestedAt: '2026-01-01T00:00:00Z' } };
    expect(String(await refusal(deleting))).to.match(/its deletion is retried automatically$/);
  });
});
