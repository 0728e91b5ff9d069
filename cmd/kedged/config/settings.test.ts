import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { defaultPolicy } from '@kedge/controllers';
import { parse } from 'smol-toml';
import { configurationFile } from './load-config.js';
import { parseAddress } from './listening.js';
import { environmentName } from './misspelt-variables.js';
import { resolveSettings, settingsByKey } from './settings.js';

const nothing = { flags: {}, environment: {}, file: {}, profile: {} };

describe('settings of kedged', () => {
  it('flags win over environment over file over profile over defaults', () => {
    const key = 'log.level';
    const layers = {
      profile: { [key]: 'debug' },
      file: { log: { level: 'warn' } },
      environment: { KEDGE_LOG_LEVEL: 'error' },
      flags: { [key]: 'silent' },
    };
    expect(resolveSettings(nothing).logLevel).to.equal('info');
    expect(resolveSettings({ ...nothing, profile: layers.profile }).logLevel).to.equal('debug');
    const file = { ...nothing, profile: layers.profile, file: layers.file };
    expect(resolveSettings(file).logLevel).to.equal('warn');
    const environment = { ...file, environment: layers.environment };
    expect(resolveSettings(environment).logLevel).to.equal('error');
    expect(resolveSettings({ ...environment, flags: layers.flags }).logLevel).to.equal('silent');
  });

  it('makes the data directory and the volume root absolute', () => {
    const file = { store: { path: './data' } };
    const { dataDirectory, localVolumeRoot } = resolveSettings({ ...nothing, file });
    expect(dataDirectory).to.equal(join(process.cwd(), 'data'));
    expect(localVolumeRoot).to.equal(join(process.cwd(), 'data/volumes'));
  });

  it('are printed as an equivalent configuration file', () => {
    const file = {
      log: { level: 'warn' },
      storage: { hostPathAllowlist: ['/srv', '/var/tmp'] },
      controllers: { heartbeatMs: 5_000 },
    };
    const config = resolveSettings({ ...nothing, file });
    const printed = configurationFile(config);
    expect(printed).to.match(/^hostPathAllowlist = \[ "\/srv", "\/var\/tmp" \]$/m);
    expect(resolveSettings({ ...nothing, file: parse(printed) })).to.deep.equal(config);
  });

  it('a name that only looks like a loopback address is reachable from other machines', () => {
    const at = (host: string) => () =>
      resolveSettings({ ...nothing, flags: { 'server.restAddress': `${host}:7861` } });
    for (const host of ['127.0.0.1', '127.1.2.3', 'localhost', '[::1]'])
      expect(at(host), host).not.to.throw();
    for (const host of ['127.evil.example', '127.0.0.1.example', '10.0.0.1'])
      expect(at(host), host).to.throw('reachable from other machines');
  });

  it('all unknown keys and invalid values are reported in one error', () => {
    const file = { server: { port: 1 }, storage: { allowCreateMissing: 'maybe' } };
    expect(() => resolveSettings({ ...nothing, file })).to.throw(
      /server\.port.*storage\.allowCreateMissing/,
    );
  });

  it('a misspelt key is reported with one suggestion', () => {
    const file = { server: { grpcAdress: '127.0.0.1:1' } };
    expect(() => resolveSettings({ ...nothing, file })).to.throw(
      /^server\.grpcAdress: is not a setting; did you mean server\.grpcAddress\?$/,
    );
  });

  it('the retry policy is read from its section and from the environment, with its defaults', () => {
    const file = { controllers: { driverBackoffMaxMs: 60_000, heartbeatMs: 5_000 } };
    const environment = { KEDGE_CONTROLLERS_HEARTBEAT_MS: '2000' };
    const { policy } = resolveSettings({ ...nothing, file, environment });
    expect(policy).to.deep.equal({
      ...defaultPolicy,
      driverBackoffMaxMs: 60_000,
      heartbeatMs: 2_000,
    });
    const bad = { controllers: { heartbeatMs: 'often', heartbeat: 1 } };
    expect(() => resolveSettings({ ...nothing, file: bad })).to.throw(
      /controllers\.heartbeat: is not a setting.*controllers\.heartbeatMs.*"often" must be a whole number from 1000/s,
    );
  });

  it('an unknown key without a resemblance is answered with the settings of its section, or the sections', () => {
    const refusal = (file: object): string => {
      try {
        resolveSettings({ ...nothing, file: file as never });
      } catch (error) {
        return (error as Error).message;
      }
      return '';
    };
    expect(refusal({ server: { zebra: 1 } }))
      .to.include('server.zebra: is not a setting; [server] has server.grpcAddress')
      .and.not.include('controllers.');
    expect(refusal({ zebra: { stripes: 1 } })).to.match(
      /^zebra\.stripes: is not a setting; the sections are \[server\], \[store\], .*\[drivers\]$/,
    );
  });

  it('are all in the table of the guide to operating, which has no others', () => {
    const guide = readFileSync(
      new URL('../../../../docs/guides/operating.md', import.meta.url),
      'utf8',
    );
    const [, table = ''] = /## Configuration\n[^]*?(\n\| Key [^]*?)\n\n/.exec(guide) ?? [];
    const documented = [...table.matchAll(/^\| (`[^|]*`)/gm)].flatMap(([, cell = '']) => {
      const keys = [...cell.matchAll(/[\w.]+/g)].map(([key]) => key);
      const section = (keys[0] ?? '').replace(/\w+$/, '');
      return keys.map((key) => (key.includes('.') ? key : `${section}${key}`));
    });
    const known = [...settingsByKey(resolveSettings(nothing)).keys()];
    const inTable = known.filter((key) => !/^(controllers|drivers)\./.test(key));
    expect(documented).to.have.members(inTable);
  });

  it('the shipped default allows no host path and creates none', () => {
    const config = resolveSettings(nothing);
    expect(config.hostPathAllowlist).to.deep.equal([]);
    expect(config.allowCreateMissing).to.equal(false);
    expect(config.defaultStorageClass).to.equal('local');
  });

  it('listening without TLS on a non-loopback address must be allowed', () => {
    const file = { server: { grpcAddress: '0.0.0.0:7863' } };
    expect(() => resolveSettings({ ...nothing, file })).to.throw('TLS');
    const asked = { server: { ...file.server, allowInsecure: true } };
    expect(resolveSettings({ ...nothing, file: asked }).grpcAddress).to.equal('0.0.0.0:7863');
  });

  it('reads addresses and names the environment', () => {
    expect(parseAddress('k', '[::1]:80')).to.deep.equal({ host: '::1', port: 80 });
    for (const bad of ['80', ':80', 'a:b', 'a:99999'])
      expect(() => parseAddress('k', bad)).to.throw('host:port');
    expect(environmentName('storage.hostPathAllowlist')).to.equal(
      'KEDGE_STORAGE_HOST_PATH_ALLOWLIST',
    );
  });

  it('a path with ~ is refused, because a directory of this name would be created', () => {
    for (const [section, key, value] of [
      ['store', 'path', '~/kedge'],
      ['storage', 'localVolumeRoot', '~'],
      ['secrets', 'kekFile', '~/kek'],
      ['log', 'auditFile', '~/audit.jsonl'],
    ] as const)
      expect(
        () => resolveSettings({ ...nothing, file: { [section]: { [key]: value } } }),
        key,
      ).to.throw(new RegExp(`^${section}\\.${key}: "${value}" must be .*without ~$`));
    const flags = { 'store.path': '~/kedge' };
    expect(() => resolveSettings({ ...nothing, flags })).to.throw('as a path without ~');
  });

  it('entries of the allowlist are absolute, since a relative one would permit nothing', () => {
    const file = { storage: { hostPathAllowlist: ['/srv', './host'] } };
    expect(() => resolveSettings({ ...nothing, file })).to.throw(
      'storage.hostPathAllowlist: ["/srv","./host"] must be a list of absolute paths',
    );
    const environment = { KEDGE_STORAGE_HOST_PATH_ALLOWLIST: '/srv, /mnt/data' };
    const { hostPathAllowlist } = resolveSettings({ ...nothing, environment });
    expect(hostPathAllowlist).to.deep.equal(['/srv', '/mnt/data']);
  });

  it('labels in a variable are pairs, and an empty variable has none', () => {
    const labels = (text: string): unknown =>
      resolveSettings({ ...nothing, environment: { KEDGE_NODE_LABELS: text } }).nodeLabels;
    expect(labels('svc.io/zone=a, tier=x=y')).to.deep.equal({ 'svc.io/zone': 'a', tier: 'x=y' });
    expect(labels('')).to.deep.equal({});
    for (const text of ['svc.io/zone', '=a'])
      expect(() => labels(text), text).to.throw(/^node\.labels: ".*" must be .*KEY=VALUE/);
    expect(() => resolveSettings({ ...nothing, flags: { 'node.name': '' } })).to.throw(
      'node.name: "" must be a name',
    );
  });
});
