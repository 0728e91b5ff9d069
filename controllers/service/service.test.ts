import { expect } from 'chai';
import type { Instance } from '../instance/kind.js';
import type { Volume } from '../volume/kind.js';
import { type Service, templateOf, type VolumeMount } from './kind.js';
import { claimedVolume } from '../references/claim.js';
import { mountPathProblem, normalMountPath, subPathProblem } from './mount-path.js';
import { mountViolations } from './mount-rules.js';
import { planService, type ServiceSituation, statusOf, waitOf } from './plan.js';

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
const plan = (
  situation: Omit<ServiceSituation, 'volumeNamed' | 'ownedVolumes'> & Partial<ServiceSituation>,
) =>
  planService({
    volumeNamed: noVolumes,
    ownedVolumes: [],
    ...situation,
  });

describe('what a service waits for', () => {
  const notReady = { ...ready, status: 'False', message: 'volume default/v is Pending' } as const;
  const scheduled = { ...notReady, type: 'Scheduled', message: 'of 0 nodes 0 are ready' };
  const wait = (instances: readonly Instance[], of: Service = service) =>
    waitOf({
      service: of,
      instances,
      volumeNamed: noVolumes,
      ownedVolumes: [],
    });

  it('is the reason of its first instance that is not ready', () => {
    const waiting = instance(1, { conditions: [notReady] });
    expect(wait([waiting, instance(0)])).to.equal('s-1: volume default/v is Pending');
    expect(wait([instance(0, { conditions: [scheduled] })])).to.equal(
      's-0: of 0 nodes 0 are ready',
    );
    expect(wait([instance(0)])).to.equal(undefined);
  });

  it('is the reason of an instance that remains when the service is deleted', () => {
    const stopping = instance(0, { conditions: [notReady], metadata: deleting });
    expect(wait([stopping], { ...service, metadata: deleting })).to.contain('s-0: volume');
  });
});

describe('service plan', () => {
  it('keeps a deleted service until its last instance is removed, not only marked for deletion', () => {
    const gone = { ...service, metadata: deleting };
    const leaving = instance(0, { metadata: deleting });
    expect(plan({ service: gone, instances: [leaving] }).finish).to.equal(false);
    expect(plan({ service: gone, instances: [] }).finish).to.equal(true);
  });

  it('creates missing objects by stable names', () => {
    const planned = plan({ service, instances: [] });
    expect(planned.createVolumes.map((v) => v.name)).to.deep.equal(['data-s-0', 'data-s-1']);
    expect(planned.createInstances).to.deep.equal([0, 1]);
    expect(planned.status.status).to.equal('Pending');
  });

  it('scale down removes instances and no volume', () => {
    const planned = plan({
      service: { ...service, scale: 1 },
      instances: [instance(0), instance(1)],
    });
    expect(planned.deleteInstances.map((i) => i.name)).to.deep.equal(['s-1']);
  });

  describe('retention', () => {
    const template = { size: '1', accessMode: 'ReadWriteOnce' } as const;
    const keeping = (retention: object): Service => ({
      ...service,
      scale: 1,
      volumes: [{ name: 'data', mountPath: '/d', claimTemplate: { ...template, retention } }],
    });
    const owned = (ordinal: number, more: Partial<Volume> = {}): Volume => ({
      name: `data-s-${ordinal}`,
      namespace: 'default',
      storageClassName: 'c',
      ...template,
      metadata,
      ...more,
    });

    it('whenScaled delete deletes the volumes of removed ordinals, once they are released', () => {
      const held = owned(2, {
        attachments: [{ claim: 'default/s-2', node: 'n', state: 'Attached' }],
      });
      const ownedVolumes = [owned(0), owned(1), held, owned(3)];
      const instances = [instance(0), instance(3, { metadata: deleting })];
      const doomed = (retention: object) =>
        plan({ service: keeping(retention), instances, ownedVolumes }).deleteVolumes;
      expect(doomed({ whenScaled: 'delete' }).map((v) => v.name)).to.deep.equal(['data-s-1']);
      expect(doomed({ whenScaled: 'retain' })).to.deep.equal([]);
      expect(doomed({})).to.deep.equal([]);
    });

    it('whenDeleted overrides the policy of its volumes when the service is deleted', () => {
      const dying = { ...keeping({ whenDeleted: 'retain' }), metadata: deleting };
      const ownedVolumes = [
        owned(0, { reclaimPolicy: 'delete' }),
        owned(1, { reclaimPolicy: 'retain' }),
      ];
      const { policies } = plan({ service: dying, instances: [], ownedVolumes });
      expect(policies.map((p) => [p.volume.name, p.reclaimPolicy])).to.deep.equal([
        ['data-s-0', 'retain'],
      ]);
      expect(
        plan({ service: keeping({ whenDeleted: 'retain' }), instances: [], ownedVolumes }).policies,
      ).to.deep.equal([]);
    });
  });

  it('waits for an instance in deletion before it creates the next one of that ordinal', () => {
    const planned = plan({
      service,
      instances: [instance(0), instance(1, { metadata: deleting })],
    });
    expect(planned.createInstances).to.deep.equal([]);
  });

  it('replaces outdated instances one at a time, highest ordinal first', () => {
    const old = { ...templateOf(service), command: ['false'] };
    const both = [instance(0, { template: old }), instance(1, { template: old })];
    const planned = plan({ service, instances: both });
    expect(planned.deleteInstances.map((i) => i.ordinal)).to.deep.equal([1]);
    expect(planned.status.status).to.equal('Deploying');
    const under = [
      instance(0, { template: old }),
      instance(1, { template: old, metadata: deleting }),
    ];
    const next = plan({ service, instances: under });
    expect(next.deleteInstances).to.deep.equal([]);
  });

  describe('a replacement', () => {
    const old = { ...templateOf(service), command: ['false'] };
    const three = { ...service, scale: 3 };
    const stale = (ordinal: number, more: Partial<Instance> = {}) =>
      instance(ordinal, { template: old, ...more });
    const unready = { status: 'Failed', conditions: [] } as const;
    const replaced = (instances: readonly Instance[]) =>
      plan({ service: three, instances }).deleteInstances.map((i) => i.ordinal);

    it('waits for new instances that are not ready: a broken template takes one replica down', () => {
      const instances = [stale(0), stale(1), instance(2, unready)];
      expect(replaced(instances)).to.deep.equal([]);
      expect(plan({ service: three, instances }).waitsFor).to.equal(2);
    });

    it('waits until a new one exists', () => {
      expect(replaced([stale(0), stale(1)])).to.deep.equal([]);
    });

    it('continues when the new ones are ready', () => {
      expect(replaced([stale(0), stale(1), instance(2)])).to.deep.equal([1]);
    });

    it('does not wait for old ones to become ready, and takes those first', () => {
      expect(replaced([stale(0), stale(1), stale(2, unready)])).to.deep.equal([2]);
      expect(replaced([stale(0, unready), stale(1), stale(2)])).to.deep.equal([0]);
      const all = [stale(0, unready), stale(1, unready), stale(2, unready)];
      expect(replaced(all)).to.deep.equal([2]);
    });
  });

  it('writes a changed minReadySeconds to its instances, and replaces none for it', () => {
    const patient = { ...service, minReadySeconds: 30 };
    const planned = plan({
      service: patient,
      instances: [instance(0), instance(1, { minReadySeconds: 30 })],
    });
    expect(planned.paceInstances.map((i) => i.ordinal)).to.deep.equal([0]);
    expect(planned.deleteInstances).to.deep.equal([]);
    const back = plan({ service, instances: [instance(0), instance(1, { minReadySeconds: 30 })] });
    expect(back.paceInstances.map((i) => i.ordinal)).to.deep.equal([1]);
  });

  it('is Running when all are ready, Degraded when some are', () => {
    const running = plan({
      service,
      instances: [instance(0), instance(1)],
    });
    expect(running.status).to.deep.equal({
      status: 'Running',
      readyInstances: 2,
      currentInstances: 2,
    });
    const some = [instance(0), instance(1, { status: 'Failed', conditions: [] })];
    expect(plan({ service, instances: some }).status.status).to.equal('Degraded');
  });

  it('has not Failed when an instance is made in the same transaction', () => {
    const failed = instance(0, { status: 'Failed', conditions: [] });
    const situation = {
      service,
      instances: [failed],
      volumeNamed: () => undefined,
      ownedVolumes: [],
    };
    expect(statusOf(situation, 0)).to.include({ status: 'Failed', currentInstances: 1 });
    expect(statusOf(situation, 0, 1)).to.include({ status: 'Degraded', currentInstances: 2 });
  });

  it('a deleted service is removed with its last instance', () => {
    const gone = { ...service, metadata: deleting };
    const planned = plan({ service: gone, instances: [instance(0)] });
    expect([planned.deleteInstances.length, planned.finish]).to.deep.equal([1, false]);
    expect(plan({ service: gone, instances: [] }).finish).to.equal(true);
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
    it(`${path} is accepted`, () => {
      expect(mountPathProblem(path)).to.equal(undefined);
    });
  it('are compared in one form', () => {
    expect(normalMountPath('/a//b/')).to.equal('/a/b');
    expect(subPathProblem('/a')).to.be.a('string');
    expect(subPathProblem('a/../b')).to.be.a('string');
    expect(subPathProblem('a/b')).to.equal(undefined);
  });
});

describe('mounts of a service (rules 1 and 2)', () => {
  const volume = (mountPath: string, name = 'v'): VolumeMount => ({
    name,
    mountPath,
    claim: { name: 'c' },
  });
  const fields = (mounts: Pick<Service, 'volumes' | 'secretMounts' | 'configmapMounts'>) =>
    mountViolations({ ...service, ...mounts }).map(({ field }) => field);

  it('volumes may be nested, but nothing in or around read-only files', () => {
    expect(fields({ volumes: [volume('/data'), volume('/data/sub', 'w')] })).to.deep.equal([]);
    for (const [path, other, overlap] of [
      ['/data', '/data/sub', true],
      ['/data/sub', '/data', true],
      ['/data', '//data/', true],
      ['/data', '/database', false],
      ['/data/a', '/data/b', false],
    ] as const) {
      const secret = { name: 's', mountPath: other };
      const found = overlap ? ['secretMounts[0].mountPath'] : [];
      expect(fields({ volumes: [volume(path)], secretMounts: [secret] }), path).to.deep.equal(
        found,
      );
      const both = { secretMounts: [secret], configmapMounts: [{ name: 'c', mountPath: path }] };
      expect(fields(both), path).to.deep.equal(overlap ? ['configmapMounts[0].mountPath'] : []);
    }
  });

  it('reports every violation of every list at once', () => {
    const found = fields({
      volumes: [volume('data'), volume('/proc/x')],
      secretMounts: [{ name: 's', mountPath: '/etc' }],
      configmapMounts: [
        {
          name: 'c',
          mountPath: '/c',
          items: ['a', 'a', 'a/b', 'd/e', 'd', '/x', 'x/../y', '..x', ''].map((path) => ({
            key: 'k',
            path,
          })),
        },
      ],
    });
    const item = (n: number) => `configmapMounts[0].items[${n}].path`;
    expect(found).to.have.members([
      'volumes[0].mountPath',
      'volumes[1].name',
      'volumes[1].mountPath',
      'secretMounts[0].mountPath',
      ...[1, 2, 4, 5, 6, 7, 8].map(item),
    ]);
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
