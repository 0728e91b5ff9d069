import { expect } from 'chai';
import type { Condition } from 'kedge';
import { type Observed, transitionsOf } from './transitions.js';

const meta = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
const at = (status: string, more: Partial<Observed> = {}): Observed => ({
  name: 'x',
  metadata: meta,
  status,
  ...more,
});
const condition = (type: string, status: Condition['status'], reason: string, message = '') => ({
  type,
  status,
  reason,
  message,
  observedGeneration: 1,
  lastTransitionAt: '',
});

describe('events of transitions', () => {
  it('a new object in its first state causes no event, and neither does an unchanged state', () => {
    expect(transitionsOf(undefined, at('Pending'), ['Failed'])).to.deep.equal([]);
    expect(transitionsOf(at('Running'), at('Running'), ['Failed'])).to.deep.equal([]);
  });

  it('a changed condition results in its reason and message; a counter in its message does not', () => {
    const before = at('Pending', { conditions: [condition('Ready', 'False', 'Waiting', '1')] });
    const ready = at('Running', { conditions: [condition('Ready', 'True', 'Started', 'pid 7')] });
    expect(transitionsOf(before, ready, ['Failed'])).to.deep.equal([
      { type: 'Normal', reason: 'Started', message: 'pid 7' },
    ]);
    const counted = at('Pending', { conditions: [condition('Ready', 'False', 'Waiting', '2')] });
    expect(transitionsOf(before, counted, ['Failed'])).to.deep.equal([]);
  });

  it('conditions with the same message result in one event', () => {
    const after = at('Failed', {
      conditions: [
        condition('A', 'False', 'Broken', 'disk'),
        condition('B', 'False', 'Broken', 'disk'),
      ],
    });
    expect(transitionsOf(at('Pending'), after, ['Failed'])).to.deep.equal([
      { type: 'Warning', reason: 'Broken', message: 'disk' },
    ]);
  });

  it('another failure in the same state is a warning with its own message', () => {
    const before = at('Failed', { reason: 'Quota', failureMessage: 'first' });
    const after = at('Failed', { reason: 'Quota', failureMessage: 'second' });
    expect(transitionsOf(before, after, ['Failed'])).to.deep.equal([
      { type: 'Warning', reason: 'Quota', message: 'second' },
    ]);
  });
});
