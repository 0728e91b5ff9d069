import { expect } from 'chai';
import type { Snapshot, StorageClass, Volume } from '@kedge/api/kinds';
import { cloudCredentials } from '../../testing/cloud-credentials.js';
import { driverErrors } from '../driver-errors.js';
import { emptyWorld, type World } from '../world.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
const deleting = { metadata: { ...metadata, deletionRequestedAt: 'now' } };
const mask = '********';
const place = { region: 'eu-central-1' };
const pair = { accessKeyId: 'AKIA', secretAccessKey: mask };

const volume = (more: Partial<Volume> = {}): Volume => ({
  ...{ namespace: 'default', name: 'v', storageClassName: 'c', size: '1Gi', handle: 'h' },
  ...{ accessMode: 'ReadWriteOnce', driver: 'cloud3-block', metadata },
  driverParameters: { ...place, ...pair },
  ...more,
});
const copy = (more: Partial<Snapshot> = {}): Snapshot => ({
  ...{ namespace: 'default', name: 's', source: { volume: 'v' }, sourceUid: 'u', handle: 'h' },
  ...{ storageClassName: 'c', driver: 'cloud3-block', metadata, ownParameters: [] },
  driverParameters: { ...place, ...pair },
  ...more,
});
const classOf = (driver: string, parameters: StorageClass['parameters'] = {}): StorageClass => ({
  ...{ name: 'c', driver, reclaimPolicy: 'delete', metadata, parameters },
});
type Kind = 'CredentialsRejected' | 'InvalidParameters' | 'Timeout';
const ofVolume = (object: Volume, world: Partial<World>, kind: Kind, message = 'AuthFailure') =>
  driverErrors[kind].remedy({
    ...{
      kind: 'Volume',
      object,
      message,
      world: { ...emptyWorld, credentials: cloudCredentials, ...world },
    },
  });
const ofCopy = (object: Snapshot, world: Partial<World>) =>
  driverErrors.CredentialsRejected.remedy({
    ...{
      kind: 'Snapshot',
      object,
      message: 'AuthFailure',
      world: { ...emptyWorld, credentials: cloudCredentials, ...world },
    },
  });

const gone = { absentClasses: ['c'] };
const edit = 'kedge edit volume/v -n default';
const create = `printf '%s\\n' 'kind: StorageClass' 'name: c' 'driver: cloud3-block' 'parameters:' '  region: "eu-central-1"' '  accessKeyId: VALUE' '  secretAccessKey: VALUE' | kedge cast --no-wait -`;

describe('the remedy for a credential whose class was deleted', () => {
  it('is a complete credential of the volume, then the class with its earlier parameters, then the end of a deletion', () => {
    const remedy = ofVolume(volume(), gone, 'CredentialsRejected');
    expect(remedy).to.include({ type: 'set', command: edit });
    expect(remedy.text).to.contain('(accessKeyId and secretAccessKey)').and.contain(create);
    expect(remedy.text).to.contain('or create storage class c again');
    const retain = `kedge patch volume/v -n default --patch '{"reclaimPolicy":"retain"}'`;
    expect(remedy.text).to.not.contain(retain);
    expect(ofVolume(volume(deleting), gone, 'CredentialsRejected').text).to.contain(retain);
  });

  it('is not another policy while an earlier call may be deleting the data', () => {
    const at = (startedAt: string): string => {
      const outcome = 'CredentialsRejected';
      const lastOperation = { call: 'delete', startedAt, outcome, message: '', nextTryAt: '' };
      const dataDeletion = { askedAt: '2026-01-01T00:00:01.000Z', generation: 1 };
      const asked = volume({ ...deleting, dataDeletion, lastOperation });
      return ofVolume(asked, gone, 'CredentialsRejected').text;
    };
    expect(at('2026-01-01T00:00:00.000Z')).to.not.contain('retain');
    expect(at('2026-01-01T00:00:01.000Z')).to.contain('retain');
  });

  it('is not another policy for a snapshot while an earlier call may be deleting the copy', () => {
    const deletionRequestedAt = '2026-01-01T00:00:01.000Z';
    const at = (startedAt: string, world: Partial<World>): string => {
      const call = { call: 'deleteSnapshot', outcome: 'Unavailable', message: '', nextTryAt: '' };
      const lastOperation = { ...call, startedAt };
      return ofCopy(copy({ metadata: { ...metadata, deletionRequestedAt }, lastOperation }), world)
        .text;
    };
    for (const world of [gone, { storageClasses: [classOf('local')] }]) {
      expect(at('2026-01-01T00:00:00.999Z', world)).to.not.contain('retain');
      expect(at('2026-01-01T00:00:01.000Z', world)).to.contain('retain');
    }
  });

  it('creates the class without the parameters of the volume, and with its references', () => {
    const driverParameters = { fsType: 'xfs', sessionToken: mask, accessKeyId: mask };
    const own = volume({ driverParameters, ownParameters: ['fsType'] });
    const { text } = ofVolume(own, gone, 'CredentialsRejected');
    expect(text).to.not.contain('xfs').and.not.contain('region');
    expect(text).to.contain(`'  sessionToken: VALUE'`).and.contain(`'  secretAccessKey: VALUE'`);
  });

  it('is not to create a class if another driver has its name', () => {
    const world = { storageClasses: [classOf('local')] };
    const remedy = ofVolume(volume(), world, 'CredentialsRejected');
    expect(remedy.command).to.equal(edit);
    expect(remedy.text).to.not.contain('cast');
    expect(ofCopy(copy(deleting), world).command).to.contain('"reclaimPolicy":"retain"');
  });

  it('is the class of a snapshot whose volume is deleted too', () => {
    expect(ofCopy(copy(deleting), gone)).to.include({ type: 'set', command: create });
    expect(ofCopy(copy(), { ...gone, volumes: [volume()] }).command).to.equal(edit);
    expect(ofCopy(copy({ ownParameters: Object.keys(pair) }), gone).command).to.not.equal(create);
  });

  it('is the class if it exists, or could not be read', () => {
    const editClass = 'kedge edit storageclass/c';
    const world = { storageClasses: [classOf('cloud3-block', pair)] };
    expect(ofVolume(volume(), world, 'CredentialsRejected').command).to.equal(editClass);
    expect(ofVolume(volume(), {}, 'CredentialsRejected').command).to.equal(editClass);
  });

  it('is that of the volume for other parameters, too, and the class is created again', () => {
    const object = volume({ ...deleting, handle: '', status: 'Failed' });
    const remedyWith = (world: Partial<World>) =>
      ofVolume(object, world, 'InvalidParameters', 'parameter region: "x" does not exist');
    expect(remedyWith(gone).command).to.equal(edit);
    expect(ofVolume({ ...object, metadata }, gone, 'InvalidParameters', 'x').text).to.contain(
      'or create storage class c again',
    );
    expect(remedyWith({ storageClasses: [classOf('cloud3-block')] }).command).to.contain(
      'storageclass',
    );
  });
});

describe('the remedy for a part of a credential', () => {
  const message = 'parameter secretAccessKey: is required with accessKeyId; set both';
  const part = { parameters: { accessKeyId: 'secret:own/id' } };
  const value = 'a whole credential: accessKeyId and secretAccessKey';

  it('is a complete one of the volume that has the part, before the end of its deletion', () => {
    for (const world of [gone, { storageClasses: [classOf('cloud3-block')] }]) {
      const remedy = ofVolume(
        volume({ ...part, ...deleting }),
        world,
        'InvalidParameters',
        message,
      );
      expect(remedy).to.include({ type: 'set', command: edit, value });
      expect(remedy.text).to.contain('"reclaimPolicy":"retain"');
      const used = ofVolume(volume(part), world, 'InvalidParameters', message);
      expect(used).to.include({ type: 'set', command: edit, value });
      expect(used.text).to.not.contain('retain');
    }
  });

  it('is that of the class if the volume has none of it', () => {
    const ofClass = { storageClasses: [classOf('cloud3-block', { accessKeyId: mask })] };
    const remedy = ofVolume(volume(deleting), ofClass, 'InvalidParameters', message);
    expect(remedy).to.include({ command: 'kedge edit storageclass/c', value });
  });
});

describe('the credential of a driver call', () => {
  it('is known by its name, whatever its value is', () => {
    const ofClass = { storageClasses: [classOf('cloud3-block', pair)] };
    const object = volume({ parameters: { fsType: 'secret:form/type' } });
    expect(ofVolume(object, ofClass, 'CredentialsRejected').command).to.equal(
      'kedge edit storageclass/c',
    );
    const literal = volume({ parameters: { accessKeyId: 'AKIA', secretAccessKey: 'x' } });
    expect(ofVolume(literal, ofClass, 'CredentialsRejected').command).to.equal(edit);
  });

  it('is that of the class where an earlier release used it before that of the volume', () => {
    const object = volume({
      driver: 'cloud1-volume',
      parameters: { apiTokenSecretRef: 'clouds/own' },
      driverParameters: { apiToken: 'secret:class/key', apiTokenSecretRef: 'clouds/own' },
    });
    expect(ofVolume(object, gone, 'CredentialsRejected').command).to.contain('secret/class');
  });

  it('is known by its value with a driver that declares none in advance, also with the names of another one', () => {
    const ofClass = { apiToken: 'secret:class/key', credentialsJSON: 'secret:class/json' };
    const storageClasses = [classOf('theirs', ofClass)];
    const object = volume({ driver: 'theirs', parameters: { apiToken: mask } });
    // It is merged key by key, so that the class gives a part.
    const missing = 'secret default/class does not exist';
    expect(ofVolume(object, { storageClasses }, 'InvalidParameters', missing).command).to.contain(
      'json=VALUE',
    );
    const part = 'parameter apiToken: is required';
    expect(ofVolume(object, { storageClasses }, 'InvalidParameters', part).text).to.not.contain(
      'a whole credential',
    );
  });
});

describe('the remedy for a deletion without a secret', () => {
  const message = 'parameter secretAccessKey: secret default/keys does not exist; create it';
  const storageClasses = [
    classOf('cloud3-block', { secretAccessKey: 'secret:keys.default.svc/k' }),
  ];
  const annotation = 'kedge annotate volume/v -n default svc.io/abandon-deletion=u';
  const told = (more: Partial<Volume>): string =>
    ofVolume(volume({ ...deleting, ...more }), { storageClasses }, 'InvalidParameters', message)
      .text;

  it('is the secret, or the end of the deletion that has an effect', () => {
    expect(told({})).to.contain('secret keys').and.contain('"reclaimPolicy":"retain"');
    // A volume with the policy, or without a handle, waits for the secret.
    for (const more of [{ reclaimPolicy: 'retain' as const }, { handle: '' }])
      expect(told(more)).to.contain(annotation).and.not.contain('"retain"');
    expect(told({ metadata })).to.not.contain('retain').and.not.contain(annotation);
  });

  it('is not another policy while the outcome of a creation is awaited', () => {
    expect(told({ status: 'Stalled' }))
      .to.contain(annotation)
      .and.not.contain('"retain"');
  });
});

describe('the remedy for a deletion whose end the provider does not let be read', () => {
  const message = "operation 1 can't be observed: forbidden";
  const dataDeletion = { askedAt: '2026-01-01T00:00:01.000Z', generation: 1 };
  const lastOperation = {
    ...{ call: 'delete', startedAt: '2026-01-01T00:00:02.000Z', outcome: 'Timeout', message },
    nextTryAt: '',
  };
  const object = volume({ ...deleting, dataDeletion, lastOperation });

  it('is a credential that may read it, and not another policy', () => {
    const storageClasses = [classOf('cloud3-block', pair)];
    const remedy = ofVolume(object, { storageClasses }, 'Timeout', message);
    expect(remedy).to.include({ type: 'set', command: 'kedge edit storageclass/c' });
    expect(remedy.text).to.contain('may read').and.not.contain('retain');
  });

  it('is to wait if the provider does not answer', () => {
    expect(ofVolume(object, {}, 'Timeout', 'no answer')).to.include({ type: 'wait' });
  });
});
