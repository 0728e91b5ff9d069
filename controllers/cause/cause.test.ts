import { expect } from 'chai';
import type { Condition } from 'kedge';
import type { Instance } from '../instance/kind.js';
import type { Service } from '../service/kind.js';
import type { Snapshot } from '../snapshot/kind.js';
import type { Volume } from '../volume/kind.js';
import { emptyWorld } from '../reasons/index.js';
import { type Cause, causeOf } from './cause.js';
import { explain } from './explain.js';
import { problemOfStorage } from './reported-problem.js';

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
const world = (volumes: readonly Volume[], instances: readonly Instance[] = []) => ({
  ...emptyWorld,
  volumes,
  instances,
});
const serviceWith = (object: Service, instances: readonly Instance[], volumes: readonly Volume[]) =>
  causeOf({ kind: 'Service', object }, world(volumes, instances));
const instanceWith = (object: Instance, volumes: readonly Volume[]) =>
  causeOf({ kind: 'Instance', object }, world(volumes));
const summaryOf = (cause: Cause | undefined) =>
  cause && { object: cause.object, message: cause.message, path: cause.path.join(' > ') };

describe('the cause of an object that is not ready', () => {
  it('is the volume behind the instance behind the service, if it has a reason', () => {
    const refused = volume({ conditions: [unmet('Provisioned', 'class c does not exist')] });
    const cause = { object: 'Volume infra/v', message: 'class c does not exist' };
    const path = 'Instance default/s-0 > Volume infra/v';
    expect(summaryOf(serviceWith(service, [instance()], [refused]))).to.deep.equal({
      ...cause,
      path: `Service default/s > ${path}`,
    });
    expect(summaryOf(instanceWith(instance(), [refused]))).to.deep.equal({ ...cause, path });
  });

  it('is the snapshot from which a volume is restored', () => {
    const waits = { ...unmet('Provisioned', 'is Failed'), reason: 'SnapshotNotReady' };
    const copied = volume({ source: { snapshot: 'copy' }, conditions: [waits] });
    const copy: Snapshot = {
      ...{ name: 'copy', namespace: 'infra', source: { volume: 'w' }, metadata },
      ...{ status: 'Failed', reason: 'QuotaExceeded', failureMessage: 'no room' },
    };
    const found = causeOf(
      { kind: 'Volume', object: copied },
      { ...world([copied]), snapshots: [copy] },
    );
    expect([found?.object, found?.reason, found?.message]).to.deep.equal([
      ...['Snapshot infra/copy', 'QuotaExceeded', 'no room'],
    ]);
  });

  describe('of a volume or snapshot without a problem of its own', () => {
    const refusal = 'volume infra/v could not be attached: unable to authenticate';
    const failing = (message: string, more: Partial<Instance> = {}): Instance => {
      const waits = { ...unmet('VolumesReady', message), reason: 'CredentialsRejected' };
      return instance({ conditions: [waits, { ...waits, type: 'Ready' }], ...more });
    };
    const usable = volume({ status: 'Available' });
    const ofVolume = (object: Volume, ...instances: readonly Instance[]) =>
      summaryOf(causeOf({ kind: 'Volume', object }, world([object], instances)));

    it('is that of an instance that can not use the volume, after that of the volume itself', () => {
      const path = 'Volume infra/v > Instance default/s-0';
      const found = { object: 'Instance default/s-0', message: refusal, path };
      expect(ofVolume(usable, failing(refusal))).to.deep.equal(found);
      expect(ofVolume(volume({ status: 'Bound' }), failing(refusal))).to.deep.equal(found);
      const refused = volume({ conditions: [unmet('Provisioned', 'class c does not exist')] });
      expect(ofVolume(refused, failing(refusal))?.object).to.equal('Volume infra/v');
      const [explained] = [
        explain({ kind: 'Volume', object: usable }, world([usable], [failing(refusal)])),
      ];
      expect(explained?.remedy?.text).to.contain('a credential that the provider accepts');
    });

    it('is that of an instance without a node, if its message names the volume', () => {
      const unplaced = (message: string): Instance =>
        instance({ conditions: [{ ...unmet('Scheduled', message), reason: 'NoNodeFits' }] });
      const message = 'no node fits: volume infra/v is reachable only from nodes with {zone=a}';
      expect(ofVolume(usable, unplaced(message))?.message).to.equal(message);
      expect(ofVolume(usable, unplaced('no node has enough memory'))).to.equal(undefined);
    });

    it('is that of an instance of a claimTemplate', () => {
      const own = volume({ name: 'data-s-0', namespace: 'default', status: 'Available' });
      const mount = { name: 'data', mountPath: '/d', claimTemplate: { size: '1Gi' } } as const;
      const message = 'volume default/data-s-0 could not be attached';
      const user = failing(message, { template: { volumes: [mount as never] } });
      expect(ofVolume(own, user)?.message).to.equal(message);
    });

    it('is not what an instance lacks apart from the volume', () => {
      expect(ofVolume(usable, instance({ conditions: [unmet('Ready', 'no image')] }))).to.equal(
        undefined,
      );
      expect(ofVolume(usable, failing('volume default/w could not be attached'))).to.equal(
        undefined,
      );
      expect(ofVolume(usable, failing(refusal, { template: {} }))).to.equal(undefined);
      const leaving = { metadata: { ...metadata, deletionRequestedAt: 'now' } };
      expect(ofVolume(usable, failing(refusal, leaving))).to.equal(undefined);
      expect(ofVolume({ ...usable, ...leaving }, failing(refusal))).to.equal(undefined);
      const progress = { ...unmet('VolumesReady', refusal), reason: 'Mounted' };
      expect(ofVolume(usable, instance({ conditions: [progress] }))).to.equal(undefined);
    });

    it('is that of a volume that can not be restored from the snapshot', () => {
      const copy: Snapshot = {
        ...{ name: 'copy', namespace: 'infra', source: { volume: 'w' }, metadata },
        status: 'Ready',
      };
      const operation = { startedAt: '', nextTryAt: '', outcome: 'PermissionDenied' };
      const lastOperation = { ...operation, call: 'restore', message: 'not permitted' };
      const restored = volume({ source: { snapshot: 'copy' }, lastOperation });
      const ofCopy = (...volumes: readonly Volume[]) =>
        summaryOf(
          causeOf({ kind: 'Snapshot', object: copy }, { ...world(volumes), snapshots: [copy] }),
        );
      expect(ofCopy(restored)).to.deep.equal({
        ...{ object: 'Volume infra/v', message: 'not permitted' },
        path: 'Snapshot infra/copy > Volume infra/v',
      });
      expect(ofCopy({ ...restored, source: { snapshot: 'other' } })).to.equal(undefined);
      const later = { ...lastOperation, call: 'expand' };
      expect(ofCopy({ ...restored, lastOperation: later })).to.equal(undefined);
    });
  });

  it('is the instance if its volumes are usable or have no reason, and the service if it has no instance', () => {
    const own = 'Instance default/s-0: volume infra/v is Pending';
    const line = (cause: Cause | undefined) => cause && `${cause.object}: ${cause.message}`;
    for (const silent of [volume(), volume({ status: 'Bound' })])
      expect(line(serviceWith(service, [instance()], [silent]))).to.equal(own);
    expect(line(serviceWith(service, [], []))).to.equal(
      'Service default/s: 0 of 1 instances are ready',
    );
  });

  it('is any condition without a Ready one, for example if no node fits', () => {
    const unplaced = instance({ conditions: [unmet('Scheduled', 'no node fits')] });
    expect(serviceWith(service, [unplaced], [])?.message).to.equal('no node fits');
    const lost = instance({ conditions: [unmet('Ready', 'its node is silent', 'Unknown')] });
    expect(instanceWith(lost, [])?.message).to.equal('its node is silent');
  });

  it('is an instance that ended before one that is starting, and none that is ready', () => {
    const ended = { name: 's-2', ordinal: 2, status: 'Failed', template: {} } as const;
    const all = [
      instance({ conditions: [met] }),
      instance({ name: 's-1', ordinal: 1 }),
      instance({ ...ended, conditions: [unmet('Ready', 'ended with exit code 1')] }),
    ];
    expect(serviceWith(service, all, [])?.object).to.equal('Instance default/s-2');
  });

  it('is the end of the last run while the next one starts, with the limit that it exceeded', () => {
    const starting = { ...unmet('Ready', 'is being started'), reason: 'Starting' };
    const crashed = instance({ conditions: [starting], exitCode: 137, backoff: { crashes: 1 } });
    expect(instanceWith(crashed, [])?.message).to.equal(
      'ended with exit code 137 before; is being started',
    );
    const cause = instanceWith({ ...crashed, exitReason: 'OOMKilled' }, []);
    expect(cause?.reason).to.equal('OOMKilled');
    expect(cause?.message).to.equal(
      'exceeded its memory limit before (OOMKilled, exit code 137); is being started',
    );
  });

  it('is what a ready instance lacks, after what others wait for', () => {
    const lacks = instance({ conditions: [met, unmet('FilesReady', 'previous files are kept')] });
    expect(instanceWith(lacks, [])?.message).to.equal('previous files are kept');
    const runs = { ...service, conditions: [met] };
    expect(serviceWith(runs, [lacks], [])?.message).to.equal('previous files are kept');
    const waits = instance({ name: 's-1', ordinal: 1 });
    expect(serviceWith(service, [lacks, waits], [])?.object).to.equal('Instance default/s-1');
    const other = unmet('VolumesReady', 'from before');
    expect(instanceWith(instance({ conditions: [met, other] }), [])).to.equal(undefined);
  });

  it('of storage is why it failed, else the answer of its driver, else what it waits for', () => {
    const conditions = [unmet('Provisioned', 'waits')];
    const lastOperation = {
      call: 'create',
      startedAt: '',
      outcome: 'Unavailable',
      message: 'not there',
      nextTryAt: '',
    };
    const failed = volume({
      ...{ status: 'Failed', failureMessage: 'no such class', lastOperation, conditions },
    });
    const messageOf = (object: Volume) => problemOfStorage(object)?.message;
    expect(messageOf(failed)).to.equal('no such class');
    expect(messageOf({ ...failed, status: 'Pending' })).to.equal('not there');
    expect(messageOf(volume({ conditions }))).to.equal('waits');
    expect(messageOf({ ...failed, status: 'Bound' })).to.equal(undefined);
  });

  it('of a volume that an instance waits for is the refusal of its attach, with a remedy that stops no holder on this node', () => {
    const operation = { startedAt: '', nextTryAt: '', outcome: 'InUse', message: 'is at server 7' };
    const waited = volume({
      status: 'Available',
      attachments: [{ claim: 'default/s-0', node: 'n', state: 'Reserved' }],
      lastOperation: { ...operation, call: 'attach' },
    });
    expect(problemOfStorage(waited)).to.deep.equal({ reason: 'InUse', message: 'is at server 7' });
    const explained = explain({ kind: 'Volume', object: waited }, world([waited]));
    expect(explained?.remedy).to.include({
      type: 'wait',
      until: 'once the volume is released there',
    });
    // The call of an attachment that has ended says nothing about the present.
    expect(problemOfStorage({ ...waited, attachments: [] })).to.equal(undefined);
    const attached = [{ claim: 'default/s-0', node: 'n', state: 'Attached' }] as const;
    expect(problemOfStorage({ ...waited, attachments: attached })).to.equal(undefined);
  });

  it('of a volume that is in use is its operation in progress: its growth, its deletion', () => {
    const grows = { ...unmet('Resizing', 'to 2 bytes: no'), status: 'True' as const };
    const bound = volume({ status: 'Bound', conditions: [{ ...grows, reason: 'Unsupported' }] });
    expect(problemOfStorage(bound)?.reason).to.equal('Unsupported');
    const left = { ...unmet('Bound', 'its service was deleted'), reason: 'OwnerGone' };
    expect(problemOfStorage(volume({ status: 'Released', conditions: [left] }))?.reason).to.equal(
      'OwnerGone',
    );
    expect(problemOfStorage(volume({ status: 'Available', conditions: [left] }))).to.equal(
      undefined,
    );
    const waits = { ...unmet('Deleted', 'is used'), reason: 'InUse' };
    const leaving = { ...bound, metadata: { ...metadata, deletionRequestedAt: 'now' } };
    expect(problemOfStorage({ ...leaving, conditions: [waits] })?.message).to.equal('is used');
  });

  it('is empty for a service that runs as specified, and not for one that is not observed yet', () => {
    const runs = { ...service, conditions: [met] };
    expect(serviceWith(runs, [instance()], [])).to.equal(undefined);
    const later = { ...runs, metadata: { ...metadata, generation: 2 } };
    expect(serviceWith(later, [instance()], [])?.object).to.equal('Instance default/s-0');
  });
});
