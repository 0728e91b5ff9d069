import { expect } from 'chai';
import type { Snapshot, StorageClass, Volume } from '@kedge/api/kinds';
import { cloudCredentials } from '../testing/cloud-credentials.js';
import { driverErrors } from './driver-errors.js';
import { nodeReasons } from './node-reasons.js';
import { emptyWorld } from './world.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
const uid = '11111111-2222-3333-4444-555555555555';
const volume = (more: Partial<Volume>): Volume => ({
  ...{ namespace: 'default', name: 'v', storageClassName: 'c', size: '1Gi' },
  ...{ accessMode: 'ReadWriteOnce', metadata },
  ...more,
});

describe('the remedy of an error of a driver', () => {
  it('whose package is missing is its installation, also in a folder with spaces', () => {
    for (const command of [
      'npm install --prefix /usr/local/lib/kedge @aws-sdk/client-ec2@3.1169.0',
      "npm install --prefix '/srv/my packages' @google-cloud/compute@6.15.0",
    ]) {
      const message = `driver x needs the package y, which is not installed; run: ${command}`;
      const object = volume({ status: 'Pending' });
      const remedy = driverErrors.Unavailable.remedy({
        ...{ kind: 'Volume', object, message, world: emptyWorld },
      });
      expect(remedy).to.include({ type: 'run', command });
    }
  });

  it('that the node does not permit is not a credential: it needs root, or a command of root', () => {
    const remedy = (message: string) =>
      driverErrors.PermissionDenied.remedy({
        ...{
          kind: 'Volume',
          object: volume({ status: 'Available', handle: 'h' }),
          message,
          world: emptyWorld,
        },
      });
    expect(
      remedy('backing "image" needs a kedged that runs as root; use backing "directory" otherwise'),
    ).to.include({
      ...{ type: 'wait', waitsFor: 'kedged on its node to run as root' },
      // Not a deletion: the volume may have data.
      command: 'kedge volume explain volume/v -n default',
    });
    expect(
      remedy(
        `/v has files of other users, which kedged may not remove; type: sudo rm -rf '/v b/${uid}'`,
      ),
    ).to.include({ type: 'run', command: `sudo rm -rf '/v b/${uid}'` });
    // Not what another agent wrote into its message.
    for (const other of ['/home', `/v/$(id)/${uid}`, `/v;id;/${uid}`, `'/v'$(id)'/${uid}'`])
      expect(remedy(`type: sudo rm -rf ${other}`).command, other).not.to.contain('rm');
    expect(remedy('read only token')).to.include({ command: 'kedge edit storageclass/c' });
  });

  it('whose package is missing is no other command that a message has', () => {
    for (const command of [
      'npm install x; id #@1',
      'npm install --prefix $(id) y@1',
      'npm install `id`@1',
    ]) {
      const message = `driver x needs the package y, which is not installed; run: ${command}`;
      const remedy = driverErrors.Unavailable.remedy({
        ...{ kind: 'Volume', object: volume({ status: 'Pending' }), message, world: emptyWorld },
      });
      expect(remedy.command, command).not.to.contain('npm');
    }
  });

  it('without capacity in some zones is to wait for one of them, not a smaller volume', () => {
    const exhaustedTopologies = ['a', 'b'].map((zone) => ({
      ...{ topology: { 'svc.io/zone': zone }, refusedAt: '' },
    }));
    const object = volume({ status: 'Provisioning', exhaustedTopologies });
    const remedy = driverErrors.QuotaExceeded.remedy({
      ...{ kind: 'Volume', object, message: 'full', world: emptyWorld },
    });
    expect(remedy.text).to.contain(
      'capacity in svc.io/zone=a or svc.io/zone=b, or a node elsewhere that can use it',
    );
  });

  it('without capacity where an instance is placed is to create that instance again', () => {
    const exhaustedTopologies = [{ topology: { 'svc.io/zone': 'a' }, refusedAt: '' }];
    const remedy = driverErrors.QuotaExceeded.remedy({
      ...{ kind: 'Volume', object: volume({ status: 'Provisioning', exhaustedTopologies }) },
      message: 'full; no capacity in svc.io/zone=a, and instance default/web-0 is placed there',
      world: emptyWorld,
    });
    expect(remedy).to.include({ type: 'run', command: 'kedge restart instance/web-0 -n default' });
  });

  it('that rejects an access key replaces both parts of it, and names the end of a deletion without it', () => {
    const parameters = {
      region: 'eu-central-1',
      accessKeyId: 'secret:aws.clouds.svc/id',
      secretAccessKey: 'secret:aws.clouds.svc/key',
    };
    const remedy = (more: Partial<Volume>) =>
      driverErrors.CredentialsRejected.remedy({
        ...{ kind: 'Volume', message: 'AuthFailure', world: emptyWorld },
        object: volume({ driver: 'd', driverParameters: parameters, ...more }),
      });
    expect(remedy({}).command).to.equal(
      `kedge patch secret/aws -n clouds --patch '{"data":{"id":"VALUE","key":"VALUE"}}'`,
    );
    const end = `kedge patch volume/v -n default --patch '{"reclaimPolicy":"retain"}'`;
    expect(remedy({}).text).not.to.contain(end);
    expect(remedy({ metadata: { ...metadata, deletionRequestedAt: 'now' } }).text).to.contain(end);
  });

  it('of a deletion that waits for the provider is no policy if the volume has no handle', () => {
    const command = (handle: string) =>
      driverErrors.Unavailable.remedy({
        ...{ kind: 'Volume', message: 'no answer', world: emptyWorld },
        object: volume({ handle, metadata: { ...metadata, deletionRequestedAt: 'now' } }),
      }).command;
    expect(command('')).to.equal('kedge delete volume/v -n default');
    expect(command('h')).to.contain('"reclaimPolicy":"retain"');
  });

  it('that refuses the parameters of a volume of unknown outcome is to change them where they are', () => {
    const remedy = (more: Partial<Volume>) =>
      driverErrors.InvalidParameters.remedy({
        ...{ kind: 'Volume', object: volume({ status: 'Stalled', ...more }) },
        ...{ message: 'parameter region: "old1" does not exist', world: emptyWorld },
      });
    const edit = { type: 'set', command: 'kedge edit storageclass/c' };
    expect(remedy({})).to.include(edit);
    expect(remedy({ parameters: { region: 'old1' } })).to.include({
      ...{ type: 'set', command: 'kedge edit volume/v -n default' },
    });
    // A provisioned volume keeps its own parameters; those of its class are the live ones.
    const own = { parameters: { region: 'old1' } };
    expect(remedy({ handle: 'h', ...own }).type).to.equal('wait');
    expect(remedy({ handle: 'h' })).to.include(edit);
  });

  it('that refuses the parameters of a failed volume is to change them where they are given', () => {
    const remedy = (message: string, parameters: Readonly<Record<string, string>> = {}) =>
      driverErrors.InvalidParameters.remedy({
        ...{ kind: 'Volume', object: volume({ status: 'Failed', parameters }), message },
        world: emptyWorld,
      });
    const [ofClass, ofVolume] = ['kedge edit storageclass/c', 'kedge edit volume/v -n default'];
    const own = { region: 'x', fsType: 'xfs' };
    for (const message of [
      'parameter region: "x" does not exist',
      'the provider refused it: invalid region; set parameter region to the slug of a region',
      'set parameter location to a location, or set parameter region to one if the alias is given',
    ]) {
      expect(remedy(message).command, message).to.equal(ofClass);
      expect(remedy(message, { fsType: 'xfs' }).command, message).to.equal(ofClass);
      expect(remedy(message, own).command, message).to.equal(ofVolume);
      // The other place is named too: a message may be about the size.
      expect(remedy(message).text, message).to.contain(ofVolume);
      expect(remedy(message, own).text, message).to.contain(ofClass);
    }
    expect(remedy('no words about a parameter').command).to.equal(ofClass);
    expect(remedy('no words about a parameter', own).command).to.equal(ofVolume);
  });

  it('that refuses to delete a volume is to correct its parameters, or to remove it without a deletion', () => {
    const remedy = (more: Partial<Volume>) =>
      driverErrors.InvalidParameters.remedy({
        ...{ kind: 'Volume', message: 'parameter region: "old1" does not exist' },
        object: volume({
          ...{ status: 'Failed', metadata: { ...metadata, deletionRequestedAt: 'now' } },
          ...more,
        }),
        world: emptyWorld,
      });
    const retain = `kedge patch volume/v -n default --patch '{"reclaimPolicy":"retain"}'`;
    expect(remedy({})).to.include({ type: 'set', command: 'kedge edit storageclass/c' });
    expect(remedy({}).text).to.contain(`or remove the object without a deletion: ${retain}`);
    expect(remedy({ parameters: { region: 'old1' } }).command).to.equal(
      'kedge edit volume/v -n default',
    );
    expect(remedy({ handle: 'h' })).to.include({ type: 'run', command: retain });
  });

  it('that refuses to delete a snapshot is to remove it without a deletion', () => {
    const object: Snapshot = {
      ...{ namespace: 'default', name: 's', source: { volume: 'v' }, status: 'Failed' },
      metadata: { ...metadata, deletionRequestedAt: 'now' },
    };
    const remedy = driverErrors.InvalidParameters.remedy({
      ...{ kind: 'Snapshot', object, message: 'snapshot s-1 is named x', world: emptyWorld },
    });
    const command = `kedge patch snapshot/s -n default --patch '{"reclaimPolicy":"retain"}'`;
    expect(remedy).to.include({ type: 'run', command });
  });

  it('that rejects a credential is to renew the one of the call, not an earlier one', () => {
    const classOf = (driver: string, parameters: Readonly<Record<string, string>>) => [
      { ...{ name: 'c', driver, parameters }, ...{ reclaimPolicy: 'delete' as const, metadata } },
    ];
    const captured = { driver: 'd', driverParameters: { token: 'secret:first/key' } };
    const object = volume({ ...captured, status: 'Available', handle: 'h' });
    const copy: Snapshot = {
      ...{ ...captured, namespace: 'default', name: 's', storageClassName: 'c' },
      ...{ source: { volume: 'v' }, metadata },
    };
    const commands = (world: Partial<typeof emptyWorld>) =>
      (
        [
          { kind: 'Volume', object },
          { kind: 'Snapshot', object: copy },
        ] as const
      ).map(
        (subject) =>
          driverErrors.CredentialsRejected.remedy({
            ...{ ...subject, message: 'unauthorized', world: { ...emptyWorld, ...world } },
          }).command,
      );
    const patch = (name: string): string =>
      `kedge patch secret/${name} -n default --patch '{"data":{"key":"VALUE"}}'`;
    const both = (command: string): readonly string[] => [command, command];
    const moved = classOf('d', { token: 'secret:second/key' });
    expect(commands({ storageClasses: moved })).to.deep.equal(both(patch('second')));
    expect(commands({ storageClasses: classOf('d', { token: 'literal' }) })).to.deep.equal(
      both('kedge edit storageclass/c'),
    );
    expect(commands({})).to.deep.equal(both(patch('first')));
    expect(commands({ storageClasses: classOf('other', {}) })).to.deep.equal(both(patch('first')));
    const own = volume({ parameters: { token: 'secret:own/key' } });
    const [, ofCopy] = commands({ storageClasses: moved, volumes: [own] });
    expect(ofCopy).to.equal(patch('own'));
  });

  describe('that rejects a credential which the volume has itself', () => {
    const storageClasses: readonly StorageClass[] = [
      {
        ...{ name: 'c', driver: 'cloud1-volume', reclaimPolicy: 'delete', metadata },
        parameters: { apiToken: 'secret:class/key', apiTokenSecretRef: 'clouds/legacy' },
      },
    ];
    const copyWith = (more: Partial<Snapshot>): Snapshot => ({
      ...{ namespace: 'default', name: 's', storageClassName: 'c', driver: 'cloud1-volume' },
      ...{ source: { volume: 'v' }, sourceUid: 'u', ownParameters: ['apiToken'], metadata },
      ...more,
    });
    const remedy = (
      subject:
        | { readonly kind: 'Volume'; readonly object: Volume }
        | { readonly kind: 'Snapshot'; readonly object: Snapshot },
      volumes: readonly Volume[] = [],
      classes = storageClasses,
    ) =>
      driverErrors.CredentialsRejected.remedy({
        ...{ ...subject, message: 'unauthorized' },
        world: {
          ...emptyWorld,
          ...{ storageClasses: classes, volumes, credentials: cloudCredentials },
        },
      });
    const patch = (name: string, namespace = 'default', key = 'key'): string =>
      `kedge patch secret/${name} -n ${namespace} --patch '{"data":{"${key}":"VALUE"}}'`;

    it('names the captured secret for a snapshot whose volume is gone', () => {
      const driverParameters = { apiToken: 'secret:own/key', apiTokenSecretRef: 'clouds/legacy' };
      const object = copyWith({ driverParameters });
      const other = volume({
        metadata: { ...metadata, uid: 'later' },
        parameters: { apiToken: 'secret:of-another/key' },
      });
      for (const volumes of [[], [other]])
        expect(remedy({ kind: 'Snapshot', object }, volumes).command).to.equal(patch('own'));
    });

    it('is to edit the volume if it is no secret', () => {
      const parameters = { accessKeyId: 'AKIA', secretAccessKey: '********' };
      const source = volume({ parameters, driver: 'd', driverParameters: parameters });
      const edit = 'kedge edit volume/v -n default';
      expect(remedy({ kind: 'Volume', object: source }).command).to.equal(edit);
      const ownParameters = Object.keys(parameters);
      const object = copyWith({ driver: 'd', driverParameters: parameters, ownParameters });
      expect(remedy({ kind: 'Snapshot', object }, [source]).command).to.equal(edit);
    });

    it('is policy retain for a deleted snapshot, and no secret, if neither a secret nor the volume has it', () => {
      const of = { driverParameters: { apiToken: '********' } };
      const waiting = remedy({ kind: 'Snapshot', object: copyWith(of) });
      expect(waiting.command).to.not.contain('storageclass').and.not.contain('secret');
      const deletionRequestedAt = 'now';
      const object = copyWith({ ...of, metadata: { ...metadata, deletionRequestedAt } });
      expect(remedy({ kind: 'Snapshot', object }).command).to.equal(
        `kedge patch snapshot/s -n default --patch '{"reclaimPolicy":"retain"}'`,
      );
    });

    it('is that of the call without the class, where another one replaces the captured ones', () => {
      const driverParameters = { apiTokenSecretRef: 'clouds/legacy' };
      const object = volume({
        ...{
          driver: 'cloud1-volume',
          driverParameters,
          parameters: { apiToken: 'secret:own/key' },
        },
      });
      expect(remedy({ kind: 'Volume', object }, [], []).command).to.equal(patch('own'));
    });

    it('is that of the class if the volume has other parameters alone, and apiToken before its legacy form', () => {
      const object = volume({ driver: 'cloud1-volume', parameters: { fsType: 'xfs' } });
      expect(remedy({ kind: 'Volume', object }).command).to.equal(patch('class'));
      const parameters = { apiTokenSecretRef: 'clouds/legacy', apiToken: 'secret:new/key' };
      const both = storageClasses.map((one) => ({ ...one, parameters }));
      expect(remedy({ kind: 'Volume', object }, [], both).command).to.equal(patch('new'));
      const legacy = both.map((one) => ({
        ...one,
        parameters: { apiTokenSecretRef: 'clouds/legacy' },
      }));
      expect(remedy({ kind: 'Volume', object }, [], legacy).command).to.equal(
        patch('legacy', 'clouds', 'token'),
      );
      const literal = both.map((one) => ({
        ...one,
        parameters: { ...parameters, apiToken: '********' },
      }));
      expect(remedy({ kind: 'Volume', object }, [], literal).command).to.equal(
        'kedge edit storageclass/c',
      );
    });
  });

  it('that refuses a value of a secret is another value, not a deletion', () => {
    const parameters = { key: 'secret:account/json', zone: 'a' };
    const storageClasses = [
      { ...{ name: 'c', driver: 'd', parameters, reclaimPolicy: 'delete' as const, metadata } },
    ];
    const deleting = { metadata: { ...metadata, deletionRequestedAt: 'now' } };
    for (const more of [{}, { handle: 'h' }, { handle: 'h', ...deleting }, deleting]) {
      const object = volume({ driver: 'd', status: 'Failed', ...more });
      const message = 'parameter key: the value is not JSON; set it to a secret reference';
      const world = { ...emptyWorld, storageClasses };
      const remedy = driverErrors.InvalidParameters.remedy({
        ...{ kind: 'Volume', object, message, world },
      });
      const command = `kedge patch secret/account -n default --patch '{"data":{"json":"VALUE"}}'`;
      expect(remedy).to.include({ type: 'set', command });
    }
  });

  it('about a volume with data is never to delete it', () => {
    const command = (
      kind: 'InvalidParameters' | 'Unavailable' | 'Timeout',
      more: Partial<Volume>,
    ) =>
      driverErrors[kind].remedy({
        ...{ kind: 'Volume', message: 'disk h is named x', world: emptyWorld },
        object: volume({ handle: 'h', ...more }),
      }).command;
    for (const kind of ['InvalidParameters', 'Unavailable', 'Timeout'] as const)
      for (const status of ['Available', 'Bound', 'Stalled', 'Released'] as const)
        expect(command(kind, { status })).to.equal('kedge volume explain volume/v -n default');
    const growing = { type: 'Resizing', status: 'True', reason: 'Unavailable' } as const;
    const conditions = [{ ...growing, message: 'disk h is named x', lastTransitionAt: '' }];
    const size = { size: '2Gi', sizeBytes: '1073741824', status: 'Available' } as const;
    expect(command('Unavailable', { ...size, conditions })).to.equal(
      `kedge patch volume/v -n default --patch '{"size":"1073741824"}'`,
    );
  });

  it('that keeps a namespace is that of its volume or snapshot', () => {
    const storageClasses = [
      {
        ...{ name: 'c', driver: 'd', parameters: { token: 'secret:t/key' } },
        ...{ reclaimPolicy: 'delete' as const, metadata },
      },
    ];
    const reason = 'CredentialsRejected';
    const failed = { driver: 'd', status: 'Failed', handle: 'h', reason } as const;
    const deleting = { ...metadata, deletionRequestedAt: 'now' };
    const copy: Snapshot = {
      ...{ ...failed, namespace: 'default', name: 's', storageClassName: 'c' },
      ...{ source: { volume: 'v' }, metadata: deleting },
    };
    const remedy = (message: string, world: Partial<typeof emptyWorld>) =>
      nodeReasons.Finalizing.remedy({
        ...{ kind: 'Namespace', object: { name: 'default', metadata }, message },
        world: { ...emptyWorld, storageClasses, ...world },
      });
    const command = `kedge patch secret/t -n default --patch '{"data":{"key":"VALUE"}}'`;
    const volumes = [volume({ ...failed, metadata: deleting })];
    expect(remedy('Volume "v" is Failed', { volumes })).to.include({ type: 'set', command });
    expect(remedy('Snapshot "s" is Failed', { snapshots: [copy] })).to.include({ command });
    const waiting = [volume({ ...failed, reason: 'Deleting', metadata: deleting })];
    expect(remedy('Volume "v" is Available', { volumes: waiting })).to.include({
      command: `kedge patch volume/v -n default --patch '{"reclaimPolicy":"retain"}'`,
    });
    expect(remedy('Service "web" is there', {})).to.include({
      command: 'kedge delete service/web -n default',
    });
  });
});
