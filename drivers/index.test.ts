import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { nodeTopologyKey } from '@kedge/driver-sdk';
import { builtinDrivers } from './index.js';

const registry = builtinDrivers({
  localVolumeRoot: '/nowhere',
  hostPathAllowlist: [],
  allowCreateMissing: false,
});

describe('built-in drivers', () => {
  it('are the six of the specification', () => {
    expect(registry.names).to.deep.equal([
      'local',
      'local-host',
      'cloud1-volume',
      'cloud2-volume',
      'cloud3-block',
      'cloud4-disk',
    ]);
  });

  const cloud = {
    accessModes: ['ReadWriteOnce'],
    expand: true,
    blockDevice: true,
    clone: false,
    ownsData: true,
  };
  /**
   * Capabilities as specification section 2.5 states them. The access modes, and the capabilities of `local` and
   * `cloud1-volume`, are decisions of this project.
   */
  const table = {
    local: {
      accessModes: ['ReadWriteOnce'],
      snapshots: true,
      expand: true,
      onlineExpand: true,
      // Its data is on one node and can be used only there.
      topologyKeys: [nodeTopologyKey],
    },
    'local-host': {
      accessModes: ['ReadWriteOnce', 'ReadOnlyMany'],
      snapshots: false,
      expand: false,
      onlineExpand: false,
      ownsData: false,
      topologyKeys: [nodeTopologyKey],
    },
    'cloud1-volume': {
      ...cloud,
      snapshots: true,
      onlineExpand: true,
      topologyKeys: ['svc.io/region'],
      adoptsOffline: true,
    },
    'cloud2-volume': {
      ...cloud,
      snapshots: false,
      onlineExpand: false,
      topologyKeys: ['svc.io/region'],
      adoptsOffline: undefined,
    },
    'cloud3-block': {
      ...cloud,
      snapshots: true,
      onlineExpand: true,
      topologyKeys: ['svc.io/region', 'svc.io/zone'],
      adoptsOffline: undefined,
    },
    'cloud4-disk': {
      ...cloud,
      accessModes: ['ReadWriteOnce', 'ReadOnlyMany'],
      snapshots: true,
      onlineExpand: true,
      topologyKeys: ['svc.io/zone'],
      adoptsOffline: undefined,
    },
  };
  for (const [name, expected] of Object.entries(table))
    it(`${name} has its capabilities`, async () => {
      const driver = await registry.get(name);
      expect(driver?.name).to.equal(name);
      const capabilities = driver?.capabilities() as unknown as Record<string, unknown>;
      for (const [key, value] of Object.entries(expected))
        expect(capabilities[key], key).to.deep.equal(value);
      const isOnNodes = driver?.capabilities().topologyKeys.includes(nodeTopologyKey);
      expect(registry.onNodes?.includes(name)).to.equal(isOnNodes);
    });

  it('refuse unknown parameters by name, and require those of a class that no volume or label supplies', async () => {
    const driver = await registry.get('cloud2-volume');
    const judge = (parameters: Record<string, string>, level: 'class' | 'volume') =>
      driver?.validateParameters(parameters, { level }).map((v) => v.key);
    expect(judge({ zone: 'x', location: 'a' }, 'class')).to.deep.equal(['zone']);
    expect(judge({}, 'class')).to.deep.equal(['location']);
    expect(judge({ location: '', region: 'x' }, 'class')).to.deep.equal([]);
    const required: readonly (readonly [string, Record<string, string>, readonly string[]])[] = [
      ['cloud1-volume', {}, ['region']],
      // A label of a node supplies the zone.
      ['cloud3-block', { region: 'r' }, []],
      ['cloud4-disk', {}, []],
      ['local-host', {}, []],
    ];
    for (const [name, parameters, keys] of required) {
      const found = (await registry.get(name))?.validateParameters(parameters, { level: 'class' });
      expect(
        found?.map(({ key }) => key),
        name,
      ).to.deep.equal(keys);
    }
    expect(judge({}, 'volume')).to.deep.equal(['location']);
    expect(judge({ region: 'x' }, 'volume')).to.deep.equal([]);
    expect(judge({ location: 'x', fsType: 'btrfs' }, 'volume')).to.deep.equal(['fsType']);
    expect(judge({ location: 'secret:a/b', fsType: 'secret:a/b' }, 'volume')).to.deep.equal([]);
  });

  const providers = {
    local: undefined,
    'local-host': undefined,
    'cloud1-volume': 'DigitalOcean',
    'cloud2-volume': 'Hetzner Cloud',
    'cloud3-block': 'Amazon EBS',
    'cloud4-disk': 'Google Persistent Disk',
  };
  for (const [name, provider] of Object.entries(providers))
    it(`${name} names its provider: ${provider ?? 'none'}`, async () => {
      expect((await registry.get(name))?.provider).to.equal(provider);
    });

  it('the README names each provider as one that works', () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    const [working = '', missing = ''] = readme.split('What does not work yet');
    for (const provider of Object.values(providers).filter((name) => name !== undefined)) {
      expect(working).to.include(provider);
      expect(missing.split('\n\n')[0]).to.not.include(provider);
    }
  });

  it('a name that is a property of every object is not a driver', async () => {
    expect(await registry.get('constructor')).to.equal(undefined);
  });
});
