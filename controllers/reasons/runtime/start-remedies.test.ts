import { expect } from 'chai';
import type { Instance } from '../../instance/kind.js';
import { emptyWorld } from '../world.js';
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

/** The command for a failed start with the message. */
const commandFor = (why: string): string =>
  startFailed({ kind: 'Instance', object, message: `can't be started: ${why}`, world: emptyWorld })
    .command;

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
    for (const why of [
      'the container engine made no progress with POST /containers/create for 30 s',
      'container kedge-c-u-1 is not ready to be started',
    ])
      expect(commandFor(why), why).to.equal('systemctl restart docker');
  });

  it('gives up the enforcement of limits that the engine of the node does not have', () => {
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

  it('is a program of the image for a command that does not exist', () => {
    expect(commandFor('exec nothing failed: No such file or directory')).to.equal(
      'kedge edit service/web -n default',
    );
  });
});
