import { expect } from 'chai';
import type { Instance, Service, Volume } from '@kedge/api/kinds';
import { emptyWorld, type Subject } from '../reasons/index.js';
import { explain } from './explain.js';
import type { Reader } from './gather.js';
import { readExplanation } from './read-explanation.js';

const metaOf = (uid: string) => ({
  ...{ uid, resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' },
});
const condition = (type: string, status: 'True' | 'False', reason: string) => ({
  ...{ type, status, reason, message: 'as recorded', lastTransitionAt: '' },
});
const instance: Instance = {
  ...{ name: 'web-0', namespace: 'default', service: 'web', ordinal: 0, template: {} },
  ...{ status: 'Running', metadata: metaOf('i'), node: 'n1' },
  conditions: [condition('Ready', 'True', 'Running')],
};
const service: Service = {
  ...{ name: 'web', namespace: 'default', status: 'Running', observedGeneration: 1 },
  ...{ metadata: metaOf('s'), conditions: [condition('Ready', 'True', 'Running')] },
};
const volume: Volume = {
  ...{ name: 'data', namespace: 'default', storageClassName: 'c', size: '1Gi', handle: 'h' },
  ...{ accessMode: 'ReadWriteOnce', status: 'Bound', metadata: metaOf('v') },
};
const world = { ...emptyWorld, instances: [instance], services: [service], volumes: [volume] };

/** Events about an object, newest first, such as `agent refused`. */
const eventsOf = (uid: string, ...ends: readonly `${string} ${'refused' | 'succeeded'}`[]) =>
  ends.map((end) => {
    const [source = '', what] = end.split(' ');
    const isRefused = what === 'refused';
    return {
      ...{ source, regarding: { uid }, message: `${source} ${what}` },
      type: isRefused ? 'Warning' : 'Normal',
      reason: isRefused ? 'ReconcileRefused' : 'Reconciled',
    };
  });
const explanationOf = (subject: Subject, events: ReturnType<typeof eventsOf>) => {
  const found = explain(subject, world, events);
  return found && `${found.path.join(' > ')}: ${found.message}`;
};
const ofInstance = { kind: 'Instance', object: instance } as const;

describe('a reconcile that is refused again and again', () => {
  it('is the cause of an object whose status is settled, with a remedy', () => {
    const refusal = eventsOf('i', 'agent refused');
    expect(explanationOf(ofInstance, refusal)).to.equal('Instance default/web-0: agent refused');
    const { reason, remedy } = explain(ofInstance, world, refusal) ?? {};
    expect(reason).to.equal('ReconcileRefused');
    expect(remedy?.command).to.equal('kedge scale service/web -n default --replicas 0');
    const ofVolume = { kind: 'Volume', object: volume } as const;
    expect(explanationOf(ofVolume, eventsOf('v', 'volume refused'))).to.contain('volume refused');
  });

  it('is the cause of a service, through its instance', () => {
    expect(
      explanationOf({ kind: 'Service', object: service }, eventsOf('i', 'agent refused')),
    ).to.equal('Service default/web > Instance default/web-0: agent refused');
  });

  it('is none after its end, and none of another object of that name', () => {
    expect(explanationOf(ofInstance, eventsOf('i', 'agent succeeded', 'agent refused'))).to.equal(
      undefined,
    );
    expect(explanationOf(ofInstance, eventsOf('earlier', 'agent refused'))).to.equal(undefined);
  });

  it('ends for one of two controllers alone', () => {
    const both = eventsOf('i', 'one succeeded', 'other refused', 'one refused');
    expect(explanationOf(ofInstance, both)).to.contain('other refused');
  });

  it('precedes a recorded wait of the same object, and follows another cause', () => {
    const recorded = (reason: string) => ({
      ...ofInstance,
      object: { ...instance, conditions: [condition('Ready', 'False', reason)] },
    });
    const refusal = eventsOf('i', 'agent refused');
    expect(explanationOf(recorded('Starting'), refusal)).to.contain('agent refused');
    expect(explanationOf(recorded('ImagePullFailed'), refusal)).to.contain('as recorded');
  });

  it('precedes the wait of the service of the instance', () => {
    const conditions = [condition('Ready', 'False', 'Deploying')];
    const waiting = { ...service, status: 'Deploying', conditions } as Service;
    const starting = { ...instance, status: 'Pending', conditions: [] } as Instance;
    const around = { ...world, instances: [starting], services: [waiting] };
    const subject = { kind: 'Service', object: waiting } as const;
    expect(explain(subject, around)?.remedy?.type).to.equal('wait');
    expect(explain(subject, around, eventsOf('i', 'agent refused'))?.path).to.deep.equal([
      'Service default/web',
      'Instance default/web-0',
    ]);
  });

  it('is the cause of an instance that waits for the refused volume, whose events are read', async () => {
    const conditions = [condition('Ready', 'False', 'Provisioning')];
    const pending = { ...volume, status: 'Provisioning', conditions } as unknown as Volume;
    const template = { volumes: [{ name: 'd', mountPath: '/d', claim: { name: 'data' } }] };
    const waiting = { ...instance, status: 'Pending', conditions: [], template } as Instance;
    const reader: Reader = {
      credentials: new Map(),
      get: (async (kind: string) => (kind === 'Volume' ? pending : 'NotFound')) as never,
      list: async () => [],
    };
    const read: string[] = [];
    const found = await readExplanation(
      reader,
      async (namespace, selector) => {
        read.push(`${namespace} ${selector}`);
        return eventsOf('v', 'volume refused').map((event) => ({ ...event, lastSeenAt: '' }));
      },
      { kind: 'Instance', object: waiting },
    );
    expect(found?.reason).to.equal('ReconcileRefused');
    expect(found?.path).to.deep.equal(['Instance default/web-0', 'Volume default/data']);
    expect(read).to.include('default regarding.kind=Volume,regarding.name=data');
  });

  it('leaves other warnings of a settled object out, because they may have ended', () => {
    const warned = eventsOf('i', 'agent refused').map((one) => ({ ...one, reason: 'Unhealthy' }));
    expect(explanationOf(ofInstance, warned)).to.equal(undefined);
    const pending = { ...ofInstance, object: { ...instance, status: 'Pending', conditions: [] } };
    expect(explanationOf(pending as Subject, warned)).to.contain('agent refused');
  });
});
