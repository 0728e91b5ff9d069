import { expect } from 'chai';
import type { Instance, KindObjects, StorageClass, Volume } from '@kedge/api/kinds';
import { explain } from './explain.js';
import { gather, type Readable, type Reader } from './gather.js';
import type { Subject } from '../reasons/world.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
const message = 'parameter apiToken: secret vault/cls does not exist; create it';
const ofClass: StorageClass = {
  ...{ name: 'c', driver: 'cloud1-volume', reclaimPolicy: 'delete', metadata },
  parameters: { apiToken: 'secret:cls.vault.svc/token' },
};
const volume: Volume = {
  ...{ namespace: 'default', name: 'v', storageClassName: 'c', size: '1Gi', metadata },
  ...{ accessMode: 'ReadWriteOnce', driver: 'cloud1-volume', status: 'Pending' },
  lastOperation: {
    ...{ call: 'provision', startedAt: '', nextTryAt: '', outcome: 'InvalidParameters', message },
  },
};
const waits = (text: string, reason: string) => ({
  ...{ type: 'VolumesReady', status: 'False', reason, message: text, lastTransitionAt: '' },
});
const instance: Instance = {
  ...{ name: 'web-0', namespace: 'default', service: 'web', ordinal: 0, metadata },
  template: { volumes: [{ name: 'd', mountPath: '/d', claim: { name: 'gone.shop.svc' } }] },
  conditions: [waits('volume shop/gone does not exist', 'VolumeNotReady')] as never,
};

interface Named {
  readonly name: string;
  readonly namespace?: string;
}

/** The command for an object in a cluster with these namespaces. @param readable whether namespaces may be read */
async function commandFor(subject: Subject, namespaces: readonly string[], readable = true) {
  const objects: { readonly [K in keyof KindObjects]?: readonly Named[] } = {
    StorageClass: [ofClass],
    Volume: [volume],
    Instance: [instance],
    Namespace: namespaces.map((name) => ({ name, metadata })),
  };
  const reader: Reader = {
    credentials: new Map(),
    get: <K extends keyof Readable>(kind: K, key: string) => {
      if (kind === 'Namespace' && !readable) return Promise.resolve(undefined);
      const found = objects[kind]?.find(({ namespace = '', name }) =>
        [name, `${namespace}/${name}`].includes(key),
      );
      return Promise.resolve((found as unknown as Readable[K] | undefined) ?? 'NotFound');
    },
    list: () => Promise.resolve([]),
  };
  return explain(subject, await gather(reader, subject))?.remedy?.command;
}

describe('the remedy for an object of a namespace that was deleted', () => {
  const ofVolume = { kind: 'Volume', object: volume } as const;

  it('creates the namespace of the secret of a class first', async () => {
    expect(await commandFor(ofVolume, ['default'])).to.match(
      /^kedge create namespace vault && kedge create secret cls -n vault --from-literal /,
    );
  });

  it('creates only the secret if its namespace exists, or could not be read', async () => {
    for (const found of [
      await commandFor(ofVolume, ['default', 'vault']),
      await commandFor(ofVolume, [], false),
    ])
      expect(found).to.match(/^kedge create secret cls -n vault/);
  });

  it('creates the namespace of a claimed volume first', async () => {
    const ofInstance = { kind: 'Instance', object: instance } as const;
    expect(await commandFor(ofInstance, ['default'])).to.match(
      /^kedge create namespace shop && printf .*'namespace: shop'/,
    );
    expect(await commandFor(ofInstance, ['default', 'shop'])).to.match(/^printf /);
  });
});
