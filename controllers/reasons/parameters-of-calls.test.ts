import { expect } from 'chai';
import type { Instance, StorageClass, Volume } from '@kedge/api/kinds';
import { driverErrors } from './driver-errors.js';
import { emptyWorld } from './world.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };

describe('the remedy of a driver call whose secret is missing', () => {
  it('is that secret with all keys that the call needs, for the volume and for an instance that waits for it', () => {
    const parameters = {
      accessKeyId: 'secret:aws/id',
      secretAccessKey: 'secret:aws/key',
      sessionToken: 'secret:other/session',
    };
    const storageClasses = [
      { ...{ name: 'c', driver: 'd', parameters, reclaimPolicy: 'delete' as const, metadata } },
    ];
    const object: Volume = {
      ...{ namespace: 'default', name: 'v', storageClassName: 'c', size: '1Gi' },
      ...{ accessMode: 'ReadWriteOnce', driver: 'd', status: 'Available', handle: 'h', metadata },
    };
    const world = { ...emptyWorld, storageClasses, volumes: [object] };
    const instance: Instance = {
      ...{ name: 'web-0', namespace: 'default', service: 'web', ordinal: 0, metadata },
      template: { image: 'x:1' },
    };
    const words = 'parameter accessKeyId: secret default/aws does not exist; create it, and more';
    const abouts = [
      { kind: 'Volume', object, message: words, world },
      { kind: 'Instance', object: instance, message: `volume default/v: ${words}`, world },
    ] as const;
    for (const about of abouts)
      expect(driverErrors.InvalidParameters.remedy(about), about.kind).to.include({
        type: 'set',
        command:
          'kedge create secret aws -n default --from-literal id=VALUE --from-literal key=VALUE',
        text: 'set data.id and data.key of secret default/aws to the values for the driver: kedge create secret aws -n default --from-literal id=VALUE --from-literal key=VALUE',
      });
  });

  it('for an instance is not the secret of its volume if its workload lacks another one', () => {
    const object: Instance = {
      ...{ name: 'web-0', namespace: 'default', service: 'web', ordinal: 0, metadata },
      template: { image: 'x:1', secretMounts: [{ name: 'tls', mountPath: '/tls', items: [] }] },
    };
    const message = 'secret default/tls does not exist';
    const about = { kind: 'Instance', object, message, world: emptyWorld } as const;
    expect(driverErrors.InvalidParameters.remedy(about).command).to.equal(
      'kedge create secret tls -n default --from-literal KEY=VALUE',
    );
  });
});

describe('the remedy of a refused parameter of a volume with data', () => {
  const message = 'parameter region: is required by this driver';
  const ofClass: StorageClass = {
    ...{ name: 'c', driver: 'd', parameters: {}, reclaimPolicy: 'delete', metadata },
  };
  const remedyOf = (more: Partial<Volume>, storageClasses: readonly StorageClass[] = [ofClass]) => {
    const object: Volume = {
      ...{ namespace: 'default', name: 'v', storageClassName: 'c', size: '1Gi', driver: 'd' },
      ...{ accessMode: 'ReadWriteOnce', status: 'Available', handle: 'h', metadata },
      ...more,
    };
    const world = { ...emptyWorld, storageClasses };
    return driverErrors.InvalidParameters.remedy({ kind: 'Volume', object, message, world });
  };

  it('is its class: it does not continue until that is changed', () => {
    for (const status of ['Available', 'Bound', 'Stalled'] as const)
      expect(remedyOf({ status })).to.include({
        ...{ type: 'set', field: 'parameters.region of storage class c' },
        command: 'kedge edit storageclass/c',
      });
  });

  it("is no class if the volume has it itself, which can't be changed, or if another driver has the class", () => {
    const explain = 'kedge volume explain volume/v -n default';
    expect(remedyOf({ parameters: { region: 'x' } }).command).to.equal(explain);
    expect(remedyOf({}, [{ ...ofClass, driver: 'other' }]).command).to.equal(explain);
  });
});
