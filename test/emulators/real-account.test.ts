import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { type Finished, finish, root, TestDaemon } from '../acceptance/daemon.js';
import { busyboxImage, RealEngine, requireEngine } from '../containers/engine.js';
import { cleanUp, requireDevices } from '../drivers/devices.js';
import { LoopDevices } from './devices/loop-devices.js';
import { labelsOf, parametersOf, tokenOf } from './drivers/served-cloud.js';
import { type ProviderName, type RunningEmulator, startEmulator } from './index.js';
import { driverNames, places } from './sweep/emulated-cloud.js';
import { seed, third } from '../fixtures/seed.js';

const guide = readFileSync(join(root, 'docs/guides/clouds.md'), 'utf8');
const token = 'token-of-the-real-account';

/** The lists of commands below a heading, without their indentation. */
function commandsBelow(heading: string): readonly string[] {
  const [, section = ''] = guide.split(`\n## ${heading}\n`);
  return [...section.matchAll(/^( *)```text\n([^]*?)^ *```$/gm)].map(([, indent = '', text = '']) =>
    text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

/** The object of the guide with a name, as YAML. */
function castable(name: string): string {
  const [, yaml = ''] = /```yaml\n([^]*?)```/.exec(guide) ?? [];
  const found = yaml.split('---\n').find((part) => part.includes(`name: ${name}\n`));
  if (found === undefined) throw new Error(`the guide has no ${name}`);
  return found;
}

/** A class of the guide, and its secret: the parameters in it by their keys. */
interface Account {
  readonly provider: ProviderName;
  readonly storageClass: string;
  readonly secret: string;
  readonly keys: Readonly<Record<string, string>>;
}

/**
 * The classes whose volumes grow in use and have snapshots. CI runs one that the seed selects, and the soak suite
 * cloud-life runs each.
 */
const accounts: readonly Account[] = [
  {
    ...{ provider: 'cloud3', storageClass: 'ebs', secret: 'aws' },
    keys: { id: 'accessKeyId', key: 'secretAccessKey' },
  },
  {
    ...{ provider: 'cloud4', storageClass: 'google', secret: 'google' },
    keys: { key: 'credentialsJSON' },
  },
  {
    ...{ provider: 'cloud1', storageClass: 'droplets', secret: 'digitalocean' },
    keys: { token: 'apiToken' },
  },
];

const tried = process.env['KEDGE_CLOUD_LIFE'] === 'all' ? accounts : third(accounts);

for (const { provider, storageClass, secret, keys } of tried)
  describe(`the trial on a real account in the guide to clouds, with ${driverNames[provider]} and an emulator, ${tried.length} of ${accounts.length} classes, seed ${seed}`, function () {
    this.timeout(150_000);
    const [use = '', change = '', end = ''] = commandsBelow('Try it on a real account');
    let home: string;
    let bin: string;
    let engine: RealEngine | undefined;
    let cloud: RunningEmulator;
    let daemon: TestDaemon;

    /** The labels of the node, in place of those in the guide. */
    const labels = Object.entries(labelsOf(provider))
      .map(([key, value]) => `${key}=${value}`)
      .join(' ');
    /** Runs commands of the guide with another class, place and image. */
    const paste = (text: string): Promise<Finished> => {
      const moved = text
        .replaceAll('svc.io/region=eu-central-1 svc.io/zone=eu-central-1a', labels)
        .replaceAll(/\bebs\b/g, storageClass)
        .replaceAll('busybox:1', busyboxImage);
      return finish('bash', ['-euo', 'pipefail', '-c', moved], {
        ...daemon.cliEnvironment,
        PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      });
    };
    const pasted = async (text: string): Promise<string> => {
      const { code, stdout, stderr } = await paste(text);
      expect(code, `${text}${stdout}${stderr}`).to.equal(0);
      return stdout;
    };
    /** Waits until the log of the workload has a line for each start. */
    const started = (count: number) =>
      eventually(
        `${count} starts`,
        async () => {
          const { stdout } = await paste('kedge logs web -n trial --tail 20');
          const lines = stdout.trim().split('\n');
          return lines.filter((line) => /\d\d:\d\d:\d\d/.test(line)).length >= count;
        },
        90_000,
      );

    before(async function () {
      requireEngine(this);
      requireDevices(this);
      home = mkdtempSync(join(tmpdir(), 'kedge-account-'));
      bin = join(home, 'bin');
      mkdirSync(bin);
      writeFileSync(
        join(bin, 'kedge'),
        `#!/bin/sh\nexec "${process.execPath}" "${join(root, 'cmd/bin/kedge.mjs')}" "$@"\n`,
        { mode: 0o755 },
      );
      const directory = join(home, 'cloud');
      const links = join(directory, 'by-id');
      mkdirSync(links, { recursive: true });
      engine = await RealEngine.start();
      cloud = await startEmulator({
        provider,
        instances: [{ name: hostname(), place: places[provider] }],
        tokens: [tokenOf(provider, 'test', token)],
        devices: new LoopDevices({ directory, deviceDirectory: () => links, clock: systemClock }),
        actionMs: 100,
      });
      const config = join(home, 'kedged.toml');
      writeFileSync(
        config,
        `[drivers.${driverNames[provider]}]
endpoint = "${cloud.endpoint}"
deviceDirectory = "${links}"
`,
      );
      daemon = await TestDaemon.start({
        arguments: ['--config', config],
        environment: { KEDGE_RUNTIME_DOCKER_SOCKET: engine.socketPath },
      });
    });
    after(async () => {
      await daemon?.end('SIGTERM');
      await engine?.stop();
      await cloud?.close();
      if (home) await cleanUp(home);
      if (daemon) await cleanUp(daemon.home);
      await daemon?.dispose();
    });

    it('its class has nothing missing', async () => {
      const parameters = parametersOf(provider, token);
      const values = Object.entries(keys).map(([key, parameter]) => {
        writeFileSync(join(home, key), parameters[parameter] ?? '');
        return `--from-file ${key}=${join(home, key)}`;
      });
      const made = castable(storageClass)
        .replace('retain', 'delete')
        .replace('my-project', parameters['project'] ?? '');
      writeFileSync(join(home, 'class.yaml'), `${castable('clouds')}---\n${made}`);
      await pasted(
        `kedge cast ${join(home, 'class.yaml')}\nkedge create secret ${secret} -n clouds ${values.join(' ')}`,
      );
      expect(await pasted('kedge driver check ebs')).not.to.match(/\bmissing\b/);
    });

    it('its commands run as printed: the workload writes, and each start prints one more line', async () => {
      expect(await pasted(use)).to.contain('data-web-0');
      await started(1);
      await pasted(change.split('\n').slice(0, 1).join('\n'));
      await started(2);
      await daemon.crash();
      const [, ...others] = change.split('\n');
      await pasted(others.join('\n'));
      const grown = await daemon.ok('GET', '/v1/namespaces/trial/volumes/data-web-0');
      expect(grown.size).to.equal('20Gi');
    });

    it('its last commands leave nothing behind', async () => {
      expect(await pasted(end)).not.to.contain('kedge-');
      expect(await cloud.inventory()).to.deep.equal([]);
      expect(cloud.emulator.violations).to.deep.equal([]);
    });
  });
