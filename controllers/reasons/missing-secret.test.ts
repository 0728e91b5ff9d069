import { expect } from 'chai';
import type { Instance, Volume } from '@kedge/api/kinds';
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
