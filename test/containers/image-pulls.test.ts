import { expect } from 'chai';
import { textOf } from 'kedge/rpc';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../acceptance/daemon.js';
import { busyboxImage, RealEngine, requireEngine } from './engine.js';
import { RealRegistry, registryUser, requireRegistry } from './registry.js';

const base = '/v1/namespaces/default';

describe('images from a registry', function () {
  this.timeout(300_000);
  let engine: RealEngine;
  let open: RealRegistry;
  let locked: RealRegistry;
  let daemon: TestDaemon;

  before(async function () {
    requireEngine(this);
    requireRegistry(this);
    engine = await RealEngine.start();
    open = await RealRegistry.start({ password: false });
    locked = await RealRegistry.start({ password: true });
    daemon = await TestDaemon.start({
      environment: {
        KEDGE_RUNTIME_DOCKER_SOCKET: engine.socketPath,
        KEDGE_CONTROLLERS_START_BACKOFF_MAX_MS: '1000',
      },
    });
  });
  after(async () => {
    await daemon?.dispose();
    await open?.stop();
    await locked?.stop();
    await engine?.stop();
  });

  const instanceOf = async (service: string): Promise<Record<string, unknown>> => {
    const { body } = await daemon.rest('GET', `${base}/instances/${service}-0`);
    return body;
  };
  const cast = (name: string, image: string, more: object = {}) =>
    daemon.ok('POST', `${base}/services`, {
      name,
      image,
      command: ['sleep', '600'],
      terminationGracePeriodSeconds: 0,
      ...more,
    });
  const running = (name: string) =>
    eventually(
      `${name} to run`,
      async () => {
        const body = await instanceOf(name);
        return body.status === 'Running' ? body : undefined;
      },
      60_000,
    );
  const failure = (name: string) =>
    eventually(
      `the failure of ${name}`,
      async () => textOf(await instanceOf(name), 'failureMessage') || undefined,
      60_000,
    );
  const gone = async (name: string): Promise<void> => {
    await daemon.ok('DELETE', `${base}/services/${name}`);
    await eventually(
      `${name} to be gone`,
      async () => (await daemon.rest('GET', `${base}/services/${name}`)).status === 404,
      60_000,
    );
  };
  /** A busybox with other content under a name. */
  const variant = (content: string): string => {
    const container = engine.docker('create', busyboxImage, 'sh');
    const image = engine.docker('commit', '--change', `LABEL content=${content}`, container);
    engine.docker('rm', container);
    return image;
  };
  const repoDigest = (name: string): string =>
    engine.docker('image', 'inspect', '--format', '{{index .RepoDigests 0}}', name);

  it('are pulled without a password, their digest is in the status, and a restart keeps the digest although the tag moved', async () => {
    const name = open.push(engine, variant('one'), 'app:1');
    await cast('pinned', name);
    const first = await running('pinned');
    expect(first.imageDigest).to.match(
      new RegExp(`^${open.host.replaceAll('.', '\\.')}/app@sha256:[0-9a-f]{64}$`),
    );
    expect(first.imageDigest).to.equal(repoDigest(name));

    open.push(engine, variant('two'), 'app:1');
    engine.docker('pull', name);
    expect(repoDigest(name)).not.to.equal(first.imageDigest);
    engine.docker('kill', String(first.containerId));
    const second = await eventually(
      'the second run',
      async () => {
        const body = await instanceOf('pinned');
        return body.status === 'Running' && body.restartCount === 1 ? body : undefined;
      },
      60_000,
    );
    expect(second.imageDigest).to.equal(first.imageDigest);
    const running2 = engine.docker('inspect', '--format', '{{.Image}}', String(second.containerId));
    const pinnedId = engine.docker(
      ...['image', 'inspect', '--format', '{{.Id}}', String(first.imageDigest)],
    );
    expect(running2).to.equal(pinnedId);

    // Another replica of the same template runs the same content, too.
    await daemon.ok('POST', `${base}/services/pinned:scale`, { scale: 2 });
    const replica = await eventually('the replica', async () => {
      const { body } = await daemon.rest('GET', `${base}/instances/pinned-1`);
      return body.status === 'Running' ? body : undefined;
    });
    expect(replica.imageDigest).to.equal(first.imageDigest);
    await gone('pinned');

    await cast('newest', name, { imagePull: 'always' });
    const newest = await running('newest');
    expect(newest.imageDigest).to.equal(repoDigest(name));
    await gone('newest');
  });

  it('have their id as digest if they are from no registry', async () => {
    await cast('local', busyboxImage);
    const { imageDigest } = await running('local');
    expect(imageDigest).to.equal(
      engine.docker('image', 'inspect', '--format', '{{.Id}}', busyboxImage),
    );
    await gone('local');
  });

  it('of a registry with a password are refused without it and with a wrong one, with cause and remedy, and pulled with the right one', async () => {
    const name = locked.push(engine, variant('locked'), 'team/app:1');
    await cast('locked', name);
    expect(await failure('locked')).to.match(
      /can't be pulled: .*no basic auth credentials; no Registry matches 127\.0\.0\.1:\d+; cast a Registry with its credentials/,
    );
    const why = await daemon.cli('why', 'instance/locked-0');
    expect(why.stdout).to.contain('ImagePullFailed');

    const host = { name: 'host', registry: locked.host };
    const { username, password } = registryUser;
    await daemon.ok('POST', '/v1/admin/registries', {
      ...host,
      auth: { type: 'basic', username, password: 'wrong' },
    });
    const wrong = await eventually(
      'the refusal of the wrong password',
      async () => {
        const message = textOf(await instanceOf('locked'), 'failureMessage');
        return message.includes('rejected the credentials') ? message : undefined;
      },
      60_000,
    );
    expect(wrong).to.match(
      /can't be pulled: .*; 127\.0\.0\.1:\d+ rejected the credentials of registry host; correct them: kedge edit registry\/host/,
    );
    expect(wrong).not.to.contain('wrong');

    // The most specific registry wins, and its password is in a secret.
    await daemon.ok('POST', `${base}/secrets`, { name: 'pull', data: { password } });
    await daemon.ok('POST', '/v1/admin/registries', {
      name: 'a-path',
      registry: `${locked.host}/team`,
      auth: { type: 'basic', username, password: 'secret:pull.default.svc/password' },
    });
    const body = await running('locked');
    expect(body.imageDigest).to.equal(repoDigest(name));
    await gone('locked');
    engine.docker('rmi', name);

    await daemon.ok('DELETE', `${base}/secrets/pull`);
    await cast('secretless', name);
    expect(await failure('secretless')).to.match(
      /registry a-path has no credentials: .*secret default\/pull does not exist; create it/,
    );
    const auth = Buffer.from(`${username}:${password}`).toString('base64');
    await daemon.ok('PUT', '/v1/admin/registries/a-path', {
      name: 'a-path',
      registry: `${locked.host}/team`,
      auth: {
        type: 'dockerconfigjson',
        dockerConfigJson: JSON.stringify({ auths: { [locked.host]: { auth } } }),
      },
    });
    await running('secretless');
    await gone('secretless');
  });

  it('a tag that the registry does not have and a registry that does not answer are reported', async () => {
    await cast('tagless', `${open.host}/app:none`);
    expect(await failure('tagless')).to.match(
      /manifest unknown.*; registry 127\.0\.0\.1:\d+ does not have this image or tag; correct image/,
    );
    await gone('tagless');
    await cast('away', '127.0.0.1:1/app:1');
    expect(await failure('away')).to.match(
      /connection refused; registry 127\.0\.0\.1:1 does not answer; start it, or load the image/,
    );
    await gone('away');
  });
});
