import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { askCloud3, itemsOf } from '../../emulators/cloud3/client.js';
import { ask } from '../../emulators/core/client.js';
import { type RunningEmulator, startEmulator } from '../../emulators/index.js';
import { root, TestDaemon } from '../daemon.js';

const base = '/v1/namespaces/default';
const token = 'test-token';

/** As after a creation whose answer was lost, and which was repeated in another region or with another token. */
describe('a second resource of a volume that exists', function () {
  this.timeout(180_000);
  let folder: string;
  let cloud1: RunningEmulator;
  let cloud3: RunningEmulator;
  let daemon: TestDaemon;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-second-'));
    cloud1 = await startEmulator({ provider: 'cloud1', actionMs: 0 });
    cloud3 = await startEmulator({ provider: 'cloud3', actionMs: 0 });
    const config = join(folder, 'kedged.toml');
    await writeFile(
      config,
      `[drivers.cloud1-volume]
endpoint = "${cloud1.endpoint}"
[drivers.cloud3-block]
endpoint = "${cloud3.endpoint}"
`,
    );
    daemon = await TestDaemon.start({
      program: join(root, 'cmd/dist/kedged/main.js'),
      arguments: ['--config', config],
    });
    const classOf = (name: string, driver: string, parameters: object): Promise<unknown> =>
      daemon.ok('POST', '/v1/storageclasses', { name, driver, parameters });
    await classOf('near', 'cloud1-volume', { region: 'fra1', apiToken: token });
    await classOf('far', 'cloud1-volume', { region: 'nyc3', apiToken: token });
    await classOf('ebs', 'cloud3-block', {
      ...{ region: 'eu-central-1', availabilityZone: 'eu-central-1a' },
      ...{ accessKeyId: 'test', secretAccessKey: token },
    });
  });
  after(async () => {
    await daemon?.dispose();
    await cloud1?.close();
    await cloud3?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const volume = (name: string) => daemon.ok('GET', `${base}/volumes/${name}`);
  const available = async (name: string, storageClassName: string) => {
    const form = { name, storageClassName, size: '10Gi', accessMode: 'ReadWriteOnce' };
    await daemon.ok('POST', `${base}/volumes`, form);
    return eventually(`${name} Available`, async () => {
      const found = await volume(name);
      return found.status === 'Available' && found;
    });
  };
  const orphans = (...args: readonly string[]) => daemon.cli('admin', 'orphans', ...args);
  const idsAt3 = async (): Promise<readonly string[]> => {
    const { body } = await askCloud3(cloud3.emulator, { action: 'DescribeVolumes' });
    return itemsOf(body, 'volumeSet').map((item) => item['volumeId'] as string);
  };

  /** Creates another volume at DigitalOcean with the name and description of an existing one. */
  const secondAt1 = async (handle: string): Promise<string> => {
    const seen = await ask(cloud1.emulator, { call: `GET /v2/volumes/${handle}` });
    const { name, description } = seen.body['volume'] as Record<string, string>;
    const body = { name, description, region: 'nyc3', size_gigabytes: 10 };
    const made = await ask(cloud1.emulator, { call: 'POST /v2/volumes', body });
    return (made.body['volume'] as Record<string, string>)['id'] ?? '';
  };
  /** Creates another volume at Amazon EBS with the tags of an existing one. */
  const secondAt3 = async (handle: string): Promise<string> => {
    const form = { 'VolumeId.1': handle };
    const { body } = await askCloud3(cloud3.emulator, { action: 'DescribeVolumes', form });
    const tags = itemsOf(itemsOf(body, 'volumeSet')[0] ?? {}, 'tagSet');
    const of = 'TagSpecification.1';
    const tagged = tags.flatMap((tag, n) => [
      [`${of}.Tag.${n + 1}.Key`, tag['key'] as string],
      [`${of}.Tag.${n + 1}.Value`, tag['value'] as string],
    ]);
    const made = await askCloud3(cloud3.emulator, {
      action: 'CreateVolume',
      form: {
        ...{ AvailabilityZone: 'eu-central-1a', Size: 10, [`${of}.ResourceType`]: 'volume' },
        ...(Object.fromEntries(tagged) as Record<string, string>),
      },
    });
    return made.body['volumeId'] as string;
  };

  const cases = [
    { storageClass: 'near', ofSecond: 'far', second: secondAt1 },
    { storageClass: 'ebs', ofSecond: 'ebs', second: secondAt3 },
  ] as const;
  for (const { storageClass, ofSecond, second } of cases)
    it(`class ${storageClass}: is listed with the command that imports it, and the resource of the volume is not`, async () => {
      const name = `of-${storageClass}`;
      const handle = String((await available(name, storageClass)).handle);
      expect((await orphans()).stdout).to.contain('No orphans were found');
      const other = await second(handle);
      const { stdout } = await orphans();
      expect(stdout).to.contain(`${other} was created for default/${name}, which uses ${handle}`);
      const commands = stdout.split('\n').filter((line) => line.startsWith('kedge volume import'));
      expect(commands).to.have.length(1);
      const [command = ''] = commands;
      expect(command).to.contain(`--class ${ofSecond} --handle ${other}`);
      const alone = await orphans('--class', ofSecond);
      expect(alone.stdout).to.contain(other);

      const own = await daemon.cli(
        ...['volume', 'import', 'mine', '--class', storageClass, '--handle', handle],
      );
      expect(own.stderr).to.contain("so it can't be imported");
      const imported = await daemon.cli(...command.split(' ').slice(1));
      expect(imported.code, imported.stderr).to.equal(0);
      expect((await orphans()).stdout).to.contain('No orphans were found');
      const [, , , copy = ''] = command.split(' ');
      await daemon.ok('PUT', `${base}/volumes/${copy}`, {
        ...(await volume(copy)),
        reclaimPolicy: 'delete',
      });
      await daemon.ok('DELETE', `${base}/volumes/${copy}`);
      await eventually(
        `${copy} to be gone`,
        async () => (await daemon.rest('GET', `${base}/volumes/${copy}`)).status === 404,
      );
      const left =
        storageClass === 'ebs' ? await idsAt3() : (await cloud1.inventory()).map(idOf).sort();
      expect(left).to.deep.equal([handle]);
      expect(await volume(name)).to.include({ status: 'Available', handle });
    });

  it('is not listed while the provider does not show the resource of the volume, and a warning has the reason', async () => {
    const handle = String((await available('lost', 'near')).handle);
    const other = await secondAt1(handle);
    await ask(cloud1.emulator, { call: `DELETE /v2/volumes/${handle}` });
    const { stdout, stderr } = await orphans();
    expect(stdout).to.not.contain(other);
    expect(stderr).to.contain(`volume ${other} was created for default/lost, which uses ${handle}`);
    const refused = await daemon.cli(
      ...['volume', 'import', 'w', '--class', 'far', '--handle', other],
    );
    expect(refused.stderr).to.contain("so it can't be imported");
  });
});

/** The id in a line of an inventory. */
function idOf(line: string): string {
  return line.split(' ')[1] ?? '';
}
