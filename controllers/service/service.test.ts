import { expect } from 'chai';
import { type Instance, type Service, templateOf } from '../kinds/index.js';
import { claimedVolume } from './claim.js';
import { mountPathProblem, normalMountPath, subPathProblem } from './mount-path.js';
import { planService } from './plan.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
const service: Service = {
  name: 's',
  namespace: 'default',
  runtime: 'process',
  command: ['true'],
  scale: 2,
  volumes: [
    { name: 'data', mountPath: '/d', claimTemplate: { size: '1', accessMode: 'ReadWriteOnce' } },
  ],
  metadata,
};
const ready = {
  type: 'Ready',
  status: 'True',
  reason: 'r',
  message: '',
  lastTransitionAt: '',
} as const;
function instance(ordinal: number, more: Partial<Instance> = {}): Instance {
  return {
    name: `s-${ordinal}`,
    namespace: 'default',
    service: 's',
    ordinal,
    template: templateOf(service),
    status: 'Running',
    conditions: [ready],
    metadata,
    ...more,
  };
}
const deleting = { ...metadata, deletionRequestedAt: 'now' };
const noVolumes = () => undefined;

describe('service plan', () => {
  it('makes what is missing, by stable names', () => {
    const plan = planService({ service, instances: [], volumeNamed: noVolumes });
    expect(plan.createVolumes.map((v) => v.name)).to.deep.equal(['data-s-0', 'data-s-1']);
    expect(plan.createInstances).to.deep.equal([0, 1]);
    expect(plan.status.status).to.equal('Pending');
  });

  it('scale down removes instances and no volume', () => {
    const plan = planService({
      service: { ...service, scale: 1 },
      instances: [instance(0), instance(1)],
      volumeNamed: noVolumes,
    });
    expect(plan.deleteInstances.map((i) => i.name)).to.deep.equal(['s-1']);
  });

  it('waits for an instance on its way out before it makes the next of that ordinal', () => {
    const plan = planService({
      service,
      instances: [instance(0), instance(1, { metadata: deleting })],
      volumeNamed: noVolumes,
    });
    expect(plan.createInstances).to.deep.equal([]);
  });

  it('replaces outdated instances one at a time, highest ordinal first', () => {
    const old = { ...templateOf(service), command: ['false'] };
    const both = [instance(0, { template: old }), instance(1, { template: old })];
    const plan = planService({ service, instances: both, volumeNamed: noVolumes });
    expect(plan.deleteInstances.map((i) => i.ordinal)).to.deep.equal([1]);
    expect(plan.status.status).to.equal('Deploying');
    const under = [
      instance(0, { template: old }),
      instance(1, { template: old, metadata: deleting }),
    ];
    const next = planService({ service, instances: under, volumeNamed: noVolumes });
    expect(next.deleteInstances).to.deep.equal([]);
  });

  it('is Running when all are ready, Degraded when some are', () => {
    const running = planService({
      service,
      instances: [instance(0), instance(1)],
      volumeNamed: noVolumes,
    });
    expect(running.status).to.deep.equal({
      status: 'Running',
      readyInstances: 2,
      currentInstances: 2,
    });
    const some = [instance(0), instance(1, { status: 'Failed', conditions: [] })];
    expect(
      planService({ service, instances: some, volumeNamed: noVolumes }).status.status,
    ).to.equal('Degraded');
  });

  it('a deleted service ends when its last instance is gone', () => {
    const gone = { ...service, metadata: deleting };
    const plan = planService({ service: gone, instances: [instance(0)], volumeNamed: noVolumes });
    expect([plan.deleteInstances.length, plan.finish]).to.deep.equal([1, false]);
    expect(planService({ service: gone, instances: [], volumeNamed: noVolumes }).finish).to.equal(
      true,
    );
  });
});

describe('mount paths (rule 2)', () => {
  for (const path of [
    '/',
    '/etc',
    '//etc/',
    '/proc',
    '/proc/self',
    '/sys/x',
    '/var/run/docker.sock',
    '/run/docker.sock',
    'data',
    '/a/../b',
    '/a\nb',
  ])
    it(`${JSON.stringify(path)} is refused`, () => {
      expect(mountPathProblem(path)).to.be.a('string');
    });
  for (const path of ['/etc/app', '/process', '/data', '/database', '/system'])
    it(`${path} is fine`, () => {
      expect(mountPathProblem(path)).to.equal(undefined);
    });
  it('are compared in one form', () => {
    expect(normalMountPath('/a//b/')).to.equal('/a/b');
    expect(subPathProblem('/a')).to.be.a('string');
    expect(subPathProblem('a/../b')).to.be.a('string');
    expect(subPathProblem('a/b')).to.equal(undefined);
  });
});

describe('claims', () => {
  it('are bare or fully qualified', () => {
    expect(claimedVolume('v', 'a')).to.deep.equal({ namespace: 'a', name: 'v' });
    expect(claimedVolume('v.b.svc', 'a')).to.deep.equal({ namespace: 'b', name: 'v' });
    for (const claim of ['v.b', 'V', 'v.b.svc.x', '', 'v/b'])
      expect(claimedVolume(claim, 'a'), claim).to.equal(undefined);
  });
});
