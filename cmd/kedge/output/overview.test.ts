import { expect } from 'chai';
import { instances } from '@kedge/controllers/kinds';
import { notReady } from './overview.js';

describe('the objects that are not ready', () => {
  const metadata = { uid: 'i', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
  const ready = { type: 'Ready', status: 'True', reason: 'Running', message: '' };
  const running = {
    ...{ name: 'web-0', namespace: 'default', service: 'web', ordinal: 0, template: {}, metadata },
    ...{ status: 'Running', conditions: [{ ...ready, lastTransitionAt: '' }] },
  };
  const groups = [{ kind: instances, objects: [running] }];
  const refusal = {
    ...{ type: 'Warning', reason: 'ReconcileRefused', message: 'is refused' },
    ...{ regarding: { uid: 'i' }, source: 'agent' },
  };

  it('have those with a settled status whose reconcile is refused, until it succeeds', () => {
    expect(notReady(groups)).to.deep.equal([]);
    expect(notReady(groups, [refusal])).to.deep.equal([
      { object: 'Instance default/web-0', status: 'Running', cause: 'is refused' },
    ]);
    const end = { ...refusal, type: 'Normal', reason: 'Reconciled' };
    expect(notReady(groups, [end, refusal])).to.deep.equal([]);
  });
});
