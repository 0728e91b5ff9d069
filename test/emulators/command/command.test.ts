import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtemp, open, readFile, readlink, stat } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { finish, root } from '../../acceptance/daemon.js';
import { cleanUp, requireDevices } from '../../drivers/devices.js';
import { whatDevicesNeed } from './needs.js';
import { commandOptions } from './options.js';

describe('the options of npm run emulators', () => {
  it('have defaults', () => {
    expect(commandOptions([])).to.deep.equal({
      ...{
        cloud1Port: 9701,
        cloud2Port: 9702,
        cloud3Port: 9703,
        cloud3MetadataPort: 9713,
        cloud4Port: 9704,
        cloud4MetadataPort: 9714,
        directory: resolve('emulated-clouds'),
      },
      ...{ node: hostname(), withoutDevices: false, remove: false },
    });
  });

  it('are refused by name', () => {
    expect(() => commandOptions(['--cloud1-port', '65536'])).to.throw('--cloud1-port 65536');
    expect(() => commandOptions(['--cloud2-port', 'x'])).to.throw('--cloud2-port x');
    expect(() => commandOptions(['--port', '1'])).to.throw('--port');
    expect(commandOptions(['--help', '--node', 'n'])).to.equal(undefined);
  });
});

describe('the requirements of devices', () => {
  it('are named with a remedy if they are missing', () => {
    expect(whatDevicesNeed('darwin', 501)).to.contain('need Linux').and.contain('--privileged');
    expect(whatDevicesNeed('linux', 1_000)).to.contain('need root').and.contain('sudo');
    for (const text of [whatDevicesNeed('darwin', 501), whatDevicesNeed('linux', 1_000)])
      expect(text).to.contain('--without-devices for the APIs alone');
  });
});

describe('npm run emulators', function () {
  this.timeout(300_000);
  const main = join(root, 'test/dist/emulators/command/main.js');
  let folder: string;
  let directory: string;
  let child: ChildProcess | undefined;

  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-emulators-'));
    directory = join(folder, 'clouds');
  });
  afterEach(async () => {
    child?.kill('SIGKILL');
    await cleanUp(folder);
  });

  const ports = [
    'cloud1',
    'cloud2',
    'cloud3',
    'cloud3-metadata',
    'cloud4',
    'cloud4-metadata',
  ].flatMap((name) => [`--${name}-port`, '0']);
  const start = async (): Promise<Readonly<Record<string, string>>> => {
    const args = [main, ...ports, '--directory', directory, '--node', 'here'];
    const started = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    child = started;
    const endpoints: Record<string, string> = {};
    for await (const line of createInterface({ input: started.stdout })) {
      const [, name, endpoint] = /^(cloud\d): (\S+),/.exec(line) ?? [];
      if (name && endpoint) endpoints[name] = endpoint;
      if (line === 'ready') break;
    }
    return endpoints;
  };
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    const ended = new Promise((done) => child?.once('exit', done));
    child?.kill(signal);
    await ended;
    child = undefined;
  };
  const send = async (url: string, token: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const post = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    return (await (await fetch(url, { headers, ...post })).json()) as Record<
      string,
      Record<string, unknown>
    >;
  };
  const isLink = (path: string) => readlink(path).catch(() => undefined);

  it('keeps volumes and attachments over kill -9, and removes all of it on request', async () => {
    const one = await start();
    const order = { name: 'a', region: 'fra1', size_gigabytes: 1 };
    const made = await send(`${one['cloud1']}/v2/volumes`, 'emulated-cloud1', order);
    const id = String(made['volume']!['id']);
    const attach = { type: 'attach', droplet_id: 3_164_444 };
    await send(`${one['cloud1']}/v2/volumes/${id}/actions`, 'emulated-cloud1', attach);
    const link = join(directory, 'cloud1/by-id/scsi-0DO_Volume_a');
    const device = await eventually('the link', () => isLink(link));
    const disk = await open(device, 'r+');
    await disk.write('kept');
    await disk.close();
    await stop('SIGKILL');
    // As after a restart of the machine.
    execFileSync('losetup', ['--detach', device]);
    const two = await start();
    const seen = await send(`${two['cloud1']}/v2/volumes/${id}`, 'emulated-cloud1');
    expect(seen['volume']).to.deep.include({ name: 'a', droplet_ids: [3_164_444] });
    const again = await open(await eventually('the link', () => isLink(link)), 'r');
    const { buffer } = await again.read(Buffer.alloc(4), 0, 4, 0);
    await again.close();
    expect(buffer.toString()).to.equal('kept');
    const settings = await readFile(join(directory, 'drivers.toml'), 'utf8');
    expect(settings).to.contain(`[drivers.cloud2-volume]\nendpoint = "${two['cloud2']}"`);
    const key = join(directory, 'cloud4/key.json');
    expect((await stat(key)).mode & 0o777).to.equal(0o600);
    expect(JSON.parse(await readFile(key, 'utf8'))).to.include({ type: 'service_account' });
    const zones = '/compute/v1/projects/emulated-project/zones';
    expect(await send(`${two['cloud4']}${zones}`, 'emulated-cloud4')).to.have.property('items');
    await stop('SIGTERM');
    const removed = await finish(process.execPath, [main, '--directory', directory, '--remove']);
    expect(removed).to.include({ code: 0, stdout: `removed ${directory}\n` });
    expect(await stat(directory).catch(() => undefined)).to.equal(undefined);
    expect(execFileSync('losetup', ['--list'], { encoding: 'utf8' })).not.to.contain(directory);
  });

  it('removes nothing while a volume is mounted', async () => {
    const { cloud2 } = await start();
    const order = { name: 'a', location: 'fsn1', size: 10, server: 42 };
    await send(`${cloud2}/v1/volumes`, 'emulated-cloud2', order);
    const link = join(directory, 'cloud2/by-id/scsi-0HC_Volume_4711');
    const device = await eventually('the link', () => isLink(link));
    await stop('SIGTERM');
    execFileSync('mkfs.ext4', ['-q', device]);
    const target = join(folder, 'mnt');
    execFileSync('mkdir', [target]);
    execFileSync('mount', [device, target]);
    const refused = await finish(process.execPath, [main, '--directory', directory, '--remove']);
    expect(refused.code).to.equal(1);
    expect(refused.stderr).to.contain(`${device} is mounted, so nothing was removed; stop kedged`);
    expect(await isLink(link)).to.equal(device);
  });

  it('prints a wrong option with the usage', async () => {
    const { code, stderr } = await finish(process.execPath, [main, '--cloud1-port', 'x']);
    expect(code).to.equal(1);
    expect(stderr).to.contain('--cloud1-port x').and.contain('usage: npm run emulators');
  });
});
