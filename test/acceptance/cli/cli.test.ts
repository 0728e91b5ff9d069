import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { finish, root, TestDaemon } from '../daemon.js';

const examples = join(root, 'docs/examples');

describe('the command line on the examples', function () {
  this.timeout(180_000);
  let watching: ChildProcess | undefined;
  let daemon: TestDaemon;

  before(async () => {
    // The examples name the only directory that the profile of npm start allows.
    daemon = await TestDaemon.start({
      environment: { KEDGE_STORAGE_HOST_PATH_ALLOWLIST: '/var/tmp/kedge' },
    });
    await mkdir('/var/tmp/kedge', { recursive: true, mode: 0o700 });
  });
  afterEach(() => watching?.kill('SIGKILL'));
  after(() => daemon.dispose());

  it('cast journal.yaml shows a plan, progress, and ends when the service runs', async () => {
    const cast = await daemon.cli('cast', join(examples, 'journal.yaml'));
    expect(cast.code, cast.stderr).to.equal(0);
    expect(cast.stdout).to.match(/Plan:\n {2}\+ Volume default\/journal created/);
    expect(cast.stdout).to.match(/Volume default\/journal Bound/);
    expect(cast.stdout).to.match(/Service default\/journal Running\nAll objects are ready\.\n$/);
    const entry = await eventually('an entry', async () => {
      const text = await readFile('/var/tmp/kedge/journal/journal.log', 'utf8').catch(() => '');
      return /entry 1 by journal-0/.test(text);
    });
    expect(entry).to.equal(true);
  });

  it('cast -n applies to objects without a namespace, also beside cluster-scoped objects', async () => {
    const file = join(daemon.home, 'placed.yaml');
    await writeFile(
      file,
      'kind: Namespace\nname: placed\n---\nkind: Configmap\nname: here\ndata:\n  a: b\n',
    );
    const { code, stdout, stderr } = await daemon.cli('cast', file, '-n', 'placed', '--no-wait');
    expect(code, stderr).to.equal(0);
    expect(stdout).to.contain('+ Namespace placed created');
    expect(stdout).to.contain('+ Configmap placed/here created');
  });

  it('cast reports and writes changed annotations, and changes nothing when they match', async () => {
    const file = join(daemon.home, 'annotated.yaml');
    const cast = async (metadata: string, ...more: string[]): Promise<string> => {
      await writeFile(file, `kind: Configmap\nname: annotated\n${metadata}data:\n  a: b\n`);
      const { code, stdout, stderr } = await daemon.cli('cast', file, '--no-wait', ...more);
      expect(code, stderr).to.equal(0);
      return stdout;
    };
    const annotations = async (): Promise<unknown> => {
      const { metadata } = await daemon.ok('GET', '/v1/namespaces/default/configmaps/annotated');
      return (metadata as { readonly annotations?: unknown }).annotations;
    };
    const team = (name: string) => `metadata:\n  annotations:\n    team: ${name}\n`;
    expect(await cast(team('red'))).to.contain('+ Configmap default/annotated created');
    const updated = '~ Configmap default/annotated updated (metadata.annotations)';
    expect(await cast(team('blue'), '--dry-run')).to.contain(updated);
    expect(await annotations()).to.deep.equal({ team: 'red' });
    expect(await cast(team('blue'))).to.contain(updated);
    expect(await annotations()).to.deep.equal({ team: 'blue' });
    expect(await cast(team('blue'))).to.contain('= Configmap default/annotated unchanged');
    // A file without these fields leaves them unchanged.
    expect(await cast('')).to.contain('= Configmap default/annotated unchanged');
    expect(await annotations()).to.deep.equal({ team: 'blue' });
  });

  it('cast again changes nothing', async () => {
    const cast = await daemon.cli('cast', join(examples, 'journal.yaml'));
    expect(cast.code).to.equal(0);
    expect(cast.stdout).to.match(/= Volume default\/journal unchanged/);
    expect(cast.stdout).to.not.match(/created|updated/);
  });

  it('get, describe and logs show the state', async () => {
    const get = await daemon.cli('get', 'volumes');
    expect(get.stdout).to.match(
      /^NAME +CLASS +STATUS +CAPACITY +SIZE +MODE +CLAIM +AGE\njournal +local-host +Bound/,
    );
    const json = await daemon.cli('get', 'volumes', 'journal', '-o', 'json');
    expect((JSON.parse(json.stdout) as { boundClaim: string }).boundClaim).to.equal(
      'default/journal-0',
    );
    const yaml = await daemon.cli('get', 'services', '-A', '-o', 'yaml');
    expect(yaml.stdout).to.contain('kind: ServiceList');
    const describe = await daemon.cli('describe', 'instance', 'journal-0', '-n', 'default');
    expect(describe.stdout).to.match(/Status: +Running/);
    expect(describe.stdout).to.match(/VolumesReady +True/);
    expect(describe.stdout).to.match(/mounted at \/journal +Volume default\/journal +Bound/);
    const logs = await daemon.cli('logs', 'journal-0', '--tail', '1');
    expect(logs.stdout).to.match(/^\S+ entry \d+ by journal-0\n$/);
  });

  it('three replicas on local wait without a container runtime, with their volumes provisioned', async () => {
    const cast = await daemon.cli('cast', join(examples, 'replicas.yaml'));
    expect(cast.code).to.equal(1);
    expect(cast.stderr).to.match(
      /the container engine's socket \S+ does not exist; install and start an engine/,
    );
    const volumes = await daemon.list('/v1/namespaces/default/volumes');
    const made = volumes.filter((v) => v.ownerService === 'default/notes');
    expect(made.map((v) => [v.name, v.status])).to.deep.equal([
      ['data-notes-0', 'Available'],
      ['data-notes-1', 'Available'],
      ['data-notes-2', 'Available'],
    ]);
    const describe = await daemon.cli('describe', 'instance', 'notes-1');
    expect(describe.stdout).to.contain('RuntimeUnavailable');
  });

  it('scale down keeps volumes; deleting the service deletes those with policy delete', async () => {
    await daemon.ok('POST', '/v1/namespaces/default/services/notes:scale', { scale: 1 });
    await eventually('one instance', async () => {
      const all = await daemon.list('/v1/namespaces/default/instances');
      return all.filter((i) => i.service === 'notes').length === 1;
    });
    const kept = await daemon.list('/v1/namespaces/default/volumes');
    const mine = kept.filter((v) => v.ownerService === 'default/notes');
    expect(mine).to.have.length(3);
    const gone = await daemon.cli('delete', 'service', 'notes');
    expect(gone.code, gone.stderr).to.equal(0);
    await eventually('the volumes to go', async () => {
      const all = await daemon.list('/v1/namespaces/default/volumes');
      return all.every((v) => v.ownerService !== 'default/notes');
    });
    for (const volume of mine) expect(existsSync(String(volume.handle))).to.equal(false);
  });

  it('a class whose parameter is a secret reference provisions a volume, whose path is masked', async () => {
    const cast = await daemon.cli('cast', join(examples, 'secret-parameter.yaml'));
    expect(cast.code, cast.stderr).to.equal(0);
    const volume = await daemon.ok('GET', '/v1/namespaces/default/volumes/archive');
    expect(volume.status).to.equal('Available');
    // The handle of a local-host volume is its path, which is a value of the secret here.
    expect(volume.handle).to.equal('********');
    expect(volume.driverParameters).to.deep.equal({
      hostPath: 'secret:paths.infra.svc/archive',
      createIfMissing: 'true',
    });
  });

  it('errors in a file name file, line, object and field; exit code 6', async () => {
    const file = join(daemon.home, 'bad.yaml');
    await writeFile(
      file,
      'kind: Volume\nname: ok\nsize: 1Gi\naccessMode: ReadWriteOnce\n---\nkind: Volume\nname: bad\nsize: 10Gx\naccessMode: ReadWriteOnce\n',
    );
    const cast = await daemon.cli('cast', file);
    expect(cast.code).to.equal(6);
    expect(cast.stderr).to.contain(`${file}:8: Volume bad: size: "10Gx"`);
    expect((await daemon.rest('GET', '/v1/namespaces/default/volumes/ok')).status).to.equal(404);
    await writeFile(file, 'kind: Volum\nname: x\n');
    expect((await daemon.cli('cast', file)).stderr).to.match(/bad\.yaml:1: "Volum" is not a kind/);
    await writeFile(file, 'a: [\n');
    expect((await daemon.cli('cast', file)).stderr).to.match(/bad\.yaml:\d+/);
  });

  it('exit codes distinguish kinds of failures; no colours into a pipe', async () => {
    expect((await daemon.cli('nonsense')).code).to.equal(2);
    expect((await daemon.cli('get', 'volumes', 'missing')).code).to.equal(4);
    expect((await daemon.cli('get', 'teapots')).code).to.equal(6);
    expect((await daemon.cli('delete', 'volume', 'journal')).code).to.equal(5);
    const plain = await daemon.cli('describe', 'volume', 'journal');
    expect(plain.stdout).to.not.contain('\u001b[');
    expect((await daemon.cli('version')).stdout).to.match(/^\d+\.\d+\.\d+\n$/);
    expect((await daemon.cli('whoami')).stdout).to.contain('root');
  });

  it('login stores a token read from standard input, mode 0600', async () => {
    const { environment, grpcAddress, token } = daemon;
    const script = `printf %s "$TOKEN" | "$NODE" cmd/bin/kedge.mjs login --server ${grpcAddress}`;
    const login = await finish('sh', ['-c', script], {
      ...environment,
      TOKEN: token,
      NODE: process.execPath,
    });
    expect(login.code, login.stderr).to.equal(0);
    const file = join(daemon.home, 'config/kedge/config.yaml');
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    const again = await finish(process.execPath, ['cmd/bin/kedge.mjs', 'whoami'], environment);
    expect(again.stdout).to.contain('root');
  });

  it('login accepts a response with a token, and refuses one without', async () => {
    const { environment, grpcAddress, token } = daemon;
    const script = `printf %s "$ANSWER" | "$NODE" cmd/bin/kedge.mjs login --server ${grpcAddress}`;
    const login = (answer: object) =>
      finish('sh', ['-c', script], {
        ...environment,
        ANSWER: JSON.stringify(answer),
        NODE: process.execPath,
      });
    const { code, stderr } = await login({ token });
    expect(code, stderr).to.equal(0);
    const without = await login({ secret: 'tide' });
    expect(without.code).to.equal(6);
    expect(without.stderr).to.contain('neither a token nor an answer that contains one');
    expect(without.stderr).to.not.contain('tide');
  });

  it('exec of a service names its instances', async () => {
    await daemon.ok('POST', '/v1/namespaces/default/services', {
      name: 'two',
      runtime: 'process',
      command: ['/bin/sleep', '600'],
      terminationGracePeriodSeconds: 1,
    });
    await eventually('its instance', async () =>
      (await daemon.cli('get', 'instances')).stdout.includes('two-0'),
    );
    const { code, stderr } = await daemon.cli('exec', 'two', '--', 'true');
    expect(code).to.not.equal(0);
    expect(stderr).to.contain('did you mean an instance of service two: two-0?');
    await daemon.ok('DELETE', '/v1/namespaces/default/services/two');
  });

  it('get --watch shows later changes', async () => {
    const child = spawn(process.execPath, ['cmd/bin/kedge.mjs', 'get', 'namespaces', '--watch'], {
      cwd: root,
      env: {
        ...process.env,
        ...daemon.environment,
        KEDGE_SERVER: daemon.grpcAddress,
        KEDGE_TOKEN: daemon.token,
      },
    });
    watching = child;
    let output = '';
    child.stdout.on('data', (data) => (output += String(data)));
    const ended = new Promise<number | null>((resolve) => {
      child.on('close', resolve);
    });
    await eventually('the present state', () => /default +Active/.test(output));
    await daemon.ok('POST', '/v1/namespaces', { name: 'appears' });
    await eventually('the change', () => /appears +Active/.test(output));
    child.kill('SIGINT');
    expect(await ended).to.equal(0);
  });
});

describe('the local profile of npm start', function () {
  this.timeout(180_000);

  it('bootstraps itself, stores a context, prints three commands, and keeps its data over a restart', async () => {
    const daemon = await TestDaemon.start({ arguments: ['--local'] });
    try {
      const greeted = () =>
        eventually('the greeting', () => daemon.log.includes('Ctrl-C stops it'));
      await greeted();
      expect((await daemon.rest('POST', '/v1/admin/bootstrap')).status).to.equal(412);
      for (const command of [
        'cast docs/examples/journal.yaml',
        'get volumes',
        'logs journal-0 --follow',
      ])
        expect(daemon.log).to.contain(`npx kedge ${command}`);
      const file = join(daemon.home, 'config/kedge/config.yaml');
      expect((await stat(file)).mode & 0o777).to.equal(0o600);
      const run = (...args: string[]) =>
        finish(process.execPath, ['cmd/bin/kedge.mjs', ...args], {
          ...daemon.environment,
        });
      const file1 = join(daemon.home, 'ns.yaml');
      await writeFile(file1, 'namespace:\n  name: kept\n');
      expect((await run('cast', file1)).code).to.equal(0);
      expect(await daemon.end('SIGTERM')).to.equal(0);
      const loggedLength = daemon.log.length;
      await daemon.run();
      await eventually('the next greeting', () =>
        daemon.log.slice(loggedLength).includes('Ctrl-C stops it'),
      );
      expect((await run('get', 'namespaces', 'kept')).code).to.equal(0);
    } finally {
      await daemon.dispose();
    }
  });
});

describe('without root', function () {
  this.timeout(180_000);
  const id = 64_123;

  it('runs the first example in a user namespace, or reports that it is not available', async function () {
    if (process.getuid?.() !== 0) {
      console.log(
        '      skipped: only root can become another user; every test runs without root here',
      );
      this.skip();
    }
    const home = '/tmp/kedge-no-root';
    await finish('rm', ['-rf', home]);
    await mkdir(home, { mode: 0o755 });
    await finish('chown', [`${id}:${id}`, home]);
    const daemon = await TestDaemon.start({
      prefix: ['setpriv', `--reuid=${id}`, `--regid=${id}`, '--clear-groups'],
      environment: {
        HOME: home,
        KEDGE_STORE_PATH: join(home, 'data'),
        KEDGE_STORAGE_HOST_PATH_ALLOWLIST: join(home, 'host'),
      },
      arguments: ['--data-directory', join(home, 'data')],
    });
    try {
      const volume = {
        name: 'j',
        storageClassName: 'local-host',
        size: '1Gi',
        accessMode: 'ReadWriteOnce',
        parameters: { hostPath: join(home, 'host/j'), createIfMissing: 'true' },
      };
      await daemon.ok('POST', '/v1/namespaces/default/volumes', volume);
      const data = { password: 'tide' };
      await daemon.ok('POST', '/v1/namespaces/default/secrets', { name: 'login', data });
      await daemon.ok('POST', '/v1/namespaces/default/services', {
        name: 'j',
        runtime: 'process',
        command: [
          '/bin/sh',
          '-c',
          'id -u > /journal/uid; cat /login/password >> /journal/uid; touch /login/x || sleep 1000',
        ],
        secretMounts: [{ name: 'login', mountPath: '/login' }],
        terminationGracePeriodSeconds: 1,
        volumes: [{ name: 'j', mountPath: '/journal', claim: { name: 'j' } }],
      });
      const path = '/v1/namespaces/default/instances/j-0';
      const instance = await eventually('a status', async () => {
        const { body } = await daemon.rest('GET', path);
        const waits = JSON.stringify(body.conditions ?? []).includes('RuntimeUnavailable');
        return body.status === 'Running' || waits ? body : undefined;
      });
      if (instance.status === 'Running') {
        const uid = await eventually('its file', () =>
          readFile(join(home, 'host/j/uid'), 'utf8').then(
            (text) => (text.endsWith('tide') ? text : undefined),
            () => undefined,
          ),
        );
        const ran = await daemon.cli('exec', 'j-0', '--', 'sh', '-c', 'id -u; cat /journal/uid');
        expect(ran.stdout, ran.stderr).to.equal(`${id}\n${id}\ntide`);
        expect(uid).to.equal(`${id}\ntide`);
        console.log('      ran in a user namespace');
      } else {
        expect(JSON.stringify(instance.conditions)).to.contain('run kedged as root');
        console.log('      user namespaces are not available here; the condition says so');
      }
    } finally {
      await daemon.dispose();
      await finish('rm', ['-rf', home]);
    }
  });
});
