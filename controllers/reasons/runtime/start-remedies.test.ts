import { expect } from 'chai';
import type { Instance } from '../../instance/kind.js';
import { emptyWorld } from '../world.js';
import type { Remedy } from '../remedy.js';
import { stopFailed } from './container-remedies.js';
import { inputMessages, removalByRoot } from '../../messages/inputs.js';
import {
  containerNameTaken,
  containerPaused,
  networkForeign,
  processUnrecorded,
} from '../../messages/starts.js';
import { inputsOfInstance } from '../instance-inputs.js';
import { paused } from './container-remedies.js';
import { startFailed } from './start-remedies.js';

const object: Instance = {
  name: 'web-0',
  namespace: 'default',
  service: 'web',
  ordinal: 0,
  node: 'n1',
  template: { image: 'x:1' },
  metadata: { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' },
};

const remedyFor = (why: string): Remedy =>
  startFailed({ kind: 'Instance', object, message: `can't be started: ${why}`, world: emptyWorld });
/** The command for a failed start with the message. */
const commandFor = (why: string): string => remedyFor(why).command;
const textFor = (why: string): string => remedyFor(why).text;

describe('the remedy of a failed stop', () => {
  it('is the engine of a container, and not the end of a service that may be deleted already', () => {
    const message = "nothing answers at the container engine's socket /run/docker.sock";
    const about = { kind: 'Instance', object, message, world: emptyWorld } as const;
    expect(stopFailed(about).command).to.equal('systemctl restart docker');
    const process = { ...object, template: { runtime: 'process' } } as const;
    expect(stopFailed({ ...about, object: process }).text).to.contain(
      'it waits for its processes to end and continues automatically on the next retry',
    );
  });
});

describe('the remedy of a stop that SIGKILL does not complete', () => {
  const about = (runtime: 'process' | 'container', message: string) =>
    stopFailed({
      ...{ kind: 'Instance', message, world: emptyWorld },
      object: { ...object, node: 'n', template: { runtime } },
    });

  it('is a wait for the kernel, and a restart of the node', () => {
    const message = 'process 42 does not end after SIGKILL: it is blocked in the kernel';
    const remedy = about('process', message);
    expect(remedy).to.include({ type: 'wait', command: 'systemctl reboot' });
    expect(remedy.text).to.contain('process 42 of node n, which is blocked in the kernel');
  });

  it('is the removal by root of files that kedged may not remove', () => {
    const path = '/d/instances/0f6cbd92-1c31-4a3a-9c0e-444444444444';
    const remedy = about('process', `x: Permission denied; ${removalByRoot.format(path)}`);
    expect(remedy.command).to.equal(`sudo rm -rf ${path}`);
    expect(remedy.text).to.contain('on node n');
  });

  it('of a container is a restart of the engine, then of the node', () => {
    const remedy = about('container', 'container kedge-c-u-1 does not end after SIGKILL; read');
    expect(remedy.command).to.equal('systemctl restart docker');
    expect(remedy.text).to.contain('if the container still runs, restart the node');
  });

  it('names a restart of the node for a container whose root directory stays busy', () => {
    const message =
      'container c: driver "overlay2" failed to remove root filesystem: unlinkat /d/merged: device or resource busy';
    const remedy = about('container', message);
    expect(JSON.stringify(remedy))
      .to.contain('systemctl restart docker')
      .and.contain('restart the node');
    expect(JSON.stringify(about('container', 'the engine refused'))).to.not.contain(
      'restart the node',
    );
  });
});

describe('the remedy of a failed start', () => {
  it('names what keeps the engine from the start, and not the command of the service', () => {
    expect(
      commandFor(
        'process 42 of container c0ffee was started by an engine that was killed meanwhile, and the engine does not know it; end it: sudo kill -9 42',
      ),
    ).to.equal('sudo kill -9 42');
    expect(
      commandFor(
        'the name of container kedge-c-u-1 is in use by a container that Kedge did not create; remove that container (docker rm -f kedge-c-u-1), or rename it',
      ),
    ).to.equal('docker rm -f kedge-c-u-1');
    expect(
      commandFor(
        'network kedge-c of the container engine was not created by this cluster; remove that network (docker network rm kedge-c)',
      ),
    ).to.equal('docker network rm kedge-c');
    for (const why of [
      'the container engine made no progress with POST /containers/create for 30 s',
      'container kedge-c-u-1 is not ready to be started',
    ])
      expect(commandFor(why), why).to.equal('systemctl restart docker');
  });

  it('has each part of a message as one word, which its shell does not read as another command', () => {
    const odd = 'a; id $(id) `id` && id';
    for (const [why, command] of [
      [containerNameTaken.format({ container: odd }), `docker rm -f '${odd}'`],
      [networkForeign.format({ network: odd }), `docker network rm '${odd}'`],
      [processUnrecorded.format({ pid: odd, container: 'c' }), `sudo kill -9 '${odd}'`],
    ] as const)
      expect(commandFor(why), why).to.equal(command);
    const about = { kind: 'Instance', object, world: emptyWorld } as const;
    const { command } = paused({ ...about, message: containerPaused.format({ container: odd }) });
    expect(command).to.equal(`docker unpause '${odd}'`);
    const message = inputMessages.secret.keyMissing.format({ object: `ns/a'b`, key: odd });
    expect(inputsOfInstance({ ...about, message }).command).to.match(
      /^kedge patch 'secret\/a'\\''b' -n ns --patch '/,
    );
  });

  it('names the field of an error of the engine or the kernel that is not about the command', () => {
    for (const why of [
      'unable to find user nosuch: no matching entries in passwd file',
      'unable to find group nosuch: no matching entries in group file',
    ])
      expect(commandFor(why), why).to.contain('{"user":"1000"}');
    for (const why of [
      'Cannot mkdir: /etc/passwd is not a directory',
      'OCI runtime create failed: error during container init: mkdir /proc/self/fd/7: not a directory: unknown: Are you trying to mount a directory onto a file',
      'OCI runtime create failed: chdir to cwd ("/root/x") set in config.json failed: permission denied',
    ])
      expect(commandFor(why), why).to.contain('{"workingDir":"/"}');
    const { text } = startFailed({
      ...{ kind: 'Instance', object, world: emptyWorld },
      message: "can't be started: spawn E2BIG",
    });
    expect(text).to.contain('env, envFrom and command of service default/web');
  });

  it('removes resources.strict for limits that the engine of the node does not have', () => {
    expect(
      commandFor(
        'the container engine does not enforce memory, and resources.strict requires it; choose a node whose kernel has these limits, or remove strict',
      ),
    ).to.equal(`kedge patch service/web -n default --patch '{"resources":{"strict":null}}'`);
  });

  it('of an absent image that must not be pulled is its load, or the permission to pull it', () => {
    const { command, text } = startFailed({
      kind: 'Instance',
      object,
      message:
        'image x:1 is not on the node of the instance, and imagePull is never; load it with kedge image load, or use imagePull missing',
      world: emptyWorld,
    });
    expect(command).to.equal(
      `kedge patch service/web -n default --patch '{"imagePull":"missing"}'`,
    );
    expect(text).to.contain('kedge image load FILE --node n1');
  });

  it('of an image that was removed after its pull is the next pull', () => {
    expect(commandFor('image x:1 was pulled, but was removed again')).to.equal(
      'kedge scale service/web -n default --replicas 0',
    );
  });

  it('frees the disk of the engine for a container only', () => {
    expect(commandFor('write /x: no space left on device')).to.equal('kedge image prune --node n1');
    const process = { ...object, template: { runtime: 'process' } } as const;
    const message = "can't be started: ENOSPC: no space left on device, mkdir '/var/lib/kedge'";
    const { command, text } = startFailed({
      ...{ kind: 'Instance', object: process, message, world: emptyWorld },
    });
    expect(command).to.equal('kedge scale service/web -n default --replicas 0');
    expect(text).to.contain('free space on the full disk of node n1');
  });

  it('frees the disk of kedged for a container whose records can not be written there', () => {
    const why = "ENOSPC: no space left on device, open '/var/lib/kedge/containers/u/last-run.new'";
    expect(textFor(why)).to.contain('free space on the full disk of node n1');
    expect(commandFor(why)).to.not.contain('image prune');
  });

  it('is the field of the service that the engine refused', () => {
    const fields = {
      'unable to find user web: no matching entries in passwd file': 'user of',
      'unable to find group web: no matching entries in group file': 'user of',
      'Cannot mkdir: /file is not a directory': 'working directory for',
      'OCI runtime create failed: chdir to cwd ("/srv") set in config.json failed: permission denied':
        'working directory for',
      'error mounting "/dev/shm/a" to rootfs at "/file": mount /dev/shm/a:/file: not a directory: unknown: Are you trying to mount a directory onto a file (or vice-versa)?':
        'mountPath /file of',
      'exec /nope failed: No such file or directory': 'command[0] of',
      'OCI runtime create failed: exec: "nope": executable file not found in $PATH':
        'command[0] of',
      'exec: "/noexec": permission denied: unknown': 'command[0] of',
      'No command specified': 'command[0] of',
      'command nope is not found in its PATH': 'command[0] of',
      'command /nope does not exist': 'command[0] of',
      'command /etc is a directory': 'command[0] of',
    };
    for (const [why, field] of Object.entries(fields)) expect(textFor(why), why).to.contain(field);
  });

  it('is to remove the cause if no field of the service is known to be wrong', () => {
    const { type, text } = remedyFor('failed to create endpoint: operation not supported');
    expect(type).to.equal('wait');
    expect(text).to.contain('its cause to be removed on node n1');
  });
});
