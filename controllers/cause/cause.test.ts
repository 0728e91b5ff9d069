import { expect } from 'chai';
import type { Condition } from 'kedge';
import type { Instance } from '../instance/kind.js';
import type { Service } from '../service/kind.js';
import type { Volume } from '../volume/kind.js';
import { causeOfInstance, causeOfService, causeOfStorage } from './cause.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
const unmet = (
  type: string,
  message: string,
  status: 'False' | 'Unknown' = 'False',
): Condition => ({
  type,
  status,
  reason: 'R',
  message,
  lastTransitionAt: '',
});
const met: Condition = { ...unmet('Ready', 'process 1'), status: 'True' };

const service: Service = {
  name: 's',
  namespace: 'default',
  observedGeneration: 1,
  conditions: [unmet('Ready', '0 of 1 instances are ready')],
  metadata,
};
const instance = (more: Partial<Instance> = {}): Instance => ({
  name: 's-0',
  namespace: 'default',
  service: 's',
  ordinal: 0,
  template: { volumes: [{ name: 'data', mountPath: '/d', claim: { name: 'v.infra.svc' } }] },
  conditions: [unmet('Ready', 'volume infra/v is Pending')],
  metadata,
  ...more,
});
const volume = (more: Partial<Volume> = {}): Volume => ({
  name: 'v',
  namespace: 'infra',
  storageClassName: 'c',
  size: '1Gi',
  accessMode: 'ReadWriteOnce',
  status: 'Pending',
  metadata,
  ...more,
});
const only = (found: Volume) => (key: string) => (key === 'infra/v' ? found : undefined);
const none = () => undefined;

describe('the cause of what does not run', () => {
  it('is the volume behind the instance behind the service, where that says something', () => {
    const refused = volume({ conditions: [unmet('Provisioned', 'class c does not exist')] });
    const cause = { object: 'Volume infra/v', message: 'class c does not exist' };
    expect(causeOfService(service, [instance()], only(refused))).to.deep.equal(cause);
    expect(causeOfInstance(instance(), only(refused))).to.deep.equal(cause);
  });

  it('is the instance where its volumes are usable or silent, and the service where all are silent', () => {
    const own = { object: 'Instance default/s-0', message: 'volume infra/v is Pending' };
    for (const silent of [volume(), volume({ status: 'Bound' })])
      expect(causeOfService(service, [instance()], only(silent))).to.deep.equal(own);
    expect(causeOfService(service, [], none)).to.deep.equal({
      object: 'Service default/s',
      message: '0 of 1 instances are ready',
    });
  });

  it('is any condition while there is no Ready one, such as that no node fits', () => {
    const unplaced = instance({ conditions: [unmet('Scheduled', 'no node fits')] });
    expect(causeOfService(service, [unplaced], none)?.message).to.equal('no node fits');
    const lost = instance({ conditions: [unmet('Ready', 'its node is silent', 'Unknown')] });
    expect(causeOfInstance(lost, none)?.message).to.equal('its node is silent');
  });

  it('is an instance that ended before one that is on its way, and none that is ready', () => {
    const ended = { name: 's-2', ordinal: 2, status: 'Failed', template: {} } as const;
    const all = [
      instance({ conditions: [met] }),
      instance({ name: 's-1', ordinal: 1 }),
      instance({ ...ended, conditions: [unmet('Ready', 'ended with exit code 1')] }),
    ];
    expect(causeOfService(service, all, none)).to.deep.equal({
      object: 'Instance default/s-2',
      message: 'ended with exit code 1',
    });
  });

  it('of storage is why it failed, else the answer of its driver, else what it waits for', () => {
    const conditions = [unmet('Provisioned', 'waits')];
    const lastOperation = {
      call: 'create',
      startedAt: '',
      outcome: 'Retryable',
      message: 'disk full',
      nextTryAt: '',
    } as unknown as NonNullable<Volume['lastOperation']>;
    const failed = { status: 'Failed', failureMessage: 'no such class', lastOperation, conditions };
    expect(causeOfStorage(failed)).to.equal('no such class');
    expect(causeOfStorage({ ...failed, status: 'Pending' })).to.equal('disk full');
    expect(causeOfStorage({ status: 'Pending', conditions })).to.equal('waits');
    expect(causeOfStorage({ status: 'Bound', lastOperation, conditions })).to.equal('');
  });

  it('is nothing for a service that runs as it is written, and something for one that is not seen yet', () => {
    const runs = { ...service, conditions: [met] };
    expect(causeOfService(runs, [instance()], none)).to.equal(undefined);
    const later = { ...runs, metadata: { ...metadata, generation: 2 } };
    expect(causeOfService(later, [instance()], none)?.object).to.equal('Instance default/s-0');
  });
});
