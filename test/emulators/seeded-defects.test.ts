import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { PermissionReport } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { root } from '../acceptance/daemon.js';
import { specifiedScopes } from './cloud1/machine.js';
import { specifiedPermissions as keyPermissions } from './cloud3/machine.js';
import {
  makeServiceAccount,
  specifiedPermissions as accountPermissions,
} from './cloud4/service-account.js';
import type { Token } from './core/machine.js';
import { type ProviderName, startEmulator } from './index.js';

/** A defect of a token or a key, and the row of `driver check` that has to show it. */
interface Defect {
  readonly what: string;
  readonly provider: ProviderName;
  /** Default: a complete one. */
  readonly token?: Token;
  readonly parameters?: Readonly<Record<string, string>>;
  /** The name of the only instance; default the node's. */
  readonly instance?: string;
  readonly row: string;
  readonly state: PermissionReport['state'];
  /** Words of the row's message. */
  readonly says?: string;
}

const node = 'worker-1';
const drivers = {
  cloud1: 'cloud1-volume',
  cloud2: 'cloud2-volume',
  cloud3: 'cloud3-block',
  cloud4: 'cloud4-disk',
} as const;
const places = {
  cloud1: 'fra1',
  cloud2: 'fsn1',
  cloud3: 'eu-central-1a',
  cloud4: 'europe-west3-a',
} as const;

const secret = 'secret-of-the-check';
const token = (provider: ProviderName, scopes?: readonly string[]): Token => ({
  ...{ name: `kedge-${provider}`, secret },
  ...(scopes ? { scopes } : {}),
});
const without = (all: readonly string[], one: string): readonly string[] =>
  all.filter((each) => each !== one);
const scopes = (missing: string): Token => token('cloud1', without(specifiedScopes, missing));
const permissions = (missing: string): Token =>
  token('cloud3', without(keyPermissions, `ec2:${missing}`));
/** With the optional permission, without which a failed growth is only repeated. */
const guidePermissions = [...keyPermissions, 'ec2:DescribeVolumesModifications'];
const wholeAccount = makeServiceAccount('kedge', { permissions: accountPermissions });
const account = (missing: string): Pick<Defect, 'token' | 'parameters'> => {
  const made = makeServiceAccount('kedge', { permissions: without(accountPermissions, missing) });
  return { token: made.token, parameters: { credentialsJSON: made.credentialsJSON } };
};

const defects: readonly Defect[] = [
  {
    ...{ what: 'a token that lacks droplet:read', provider: 'cloud1' },
    token: scopes('droplet:read'),
    ...{ row: 'droplet:read', state: 'missing', says: 'provider rejected credentials' },
  },
  {
    ...{ what: 'a token that lacks actions:read', provider: 'cloud1' },
    token: scopes('actions:read'),
    ...{ row: 'actions:read', state: 'missing', says: 'needs scope actions:read' },
  },
  {
    ...{ what: 'a token whose scope only a change would show', provider: 'cloud1' },
    token: scopes('block_storage:create'),
    ...{ row: 'block_storage:create', state: 'unknown' },
  },
  {
    ...{ what: 'an unknown token', provider: 'cloud2', parameters: { apiToken: 'other' } },
    ...{ row: 'Read', state: 'missing', says: 'unable to authenticate' },
  },
  {
    ...{ what: 'a token that only reads', provider: 'cloud2', token: token('cloud2', ['read']) },
    ...{ row: 'Read & Write', state: 'unknown' },
  },
  {
    ...{ what: 'the token of another project', provider: 'cloud2', instance: 'worker-9' },
    ...{ row: `server of node ${node}`, state: 'missing', says: `no server named ${node}` },
  },
  {
    ...{ what: 'a key without ec2:CreateVolume', provider: 'cloud3' },
    token: permissions('CreateVolume'),
    ...{ row: 'ec2:CreateVolume', state: 'missing', says: 'not authorized to perform' },
  },
  {
    ...{ what: 'a key without ec2:DescribeInstances', provider: 'cloud3' },
    token: permissions('DescribeInstances'),
    ...{ row: 'ec2:DescribeInstances', state: 'missing', says: 'not authorized to perform' },
  },
  {
    ...{ what: 'a key with another secret', provider: 'cloud3' },
    parameters: { secretAccessKey: 'other' },
    ...{ row: 'ec2:DescribeVolumes', state: 'missing', says: 'not able to validate' },
  },
  {
    ...{ what: 'an account without compute.instances.get', provider: 'cloud4' },
    ...account('compute.instances.get'),
    ...{ row: 'compute.instances.get', state: 'missing' },
  },
  {
    ...{ what: 'an account without compute.instances.attachDisk', provider: 'cloud4' },
    ...account('compute.instances.attachDisk'),
    ...{ row: 'compute.instances.attachDisk', state: 'missing' },
  },
  {
    ...{ what: 'the key of a deleted account', provider: 'cloud4' },
    parameters: { credentialsJSON: makeServiceAccount('gone').credentialsJSON },
    ...{ row: 'compute.disks.get', state: 'missing' },
  },
  {
    ...{ what: 'a project that does not exist', provider: 'cloud4' },
    parameters: { project: 'my-project' },
    ...{ row: 'parameter project', state: 'missing', says: 'Failed to find project' },
  },
];

/** The parameters of a complete class. */
const complete = {
  cloud1: { region: places.cloud1, apiToken: secret },
  cloud2: { location: places.cloud2, apiToken: secret },
  cloud3: {
    ...{ region: 'eu-central-1', availabilityZone: places.cloud3 },
    ...{ accessKeyId: 'kedge-cloud3', secretAccessKey: secret },
  },
  cloud4: {
    ...{ zone: places.cloud4, project: 'emulated-project' },
    credentialsJSON: wholeAccount.credentialsJSON,
  },
} as const;
const whole: Readonly<Record<ProviderName, Token>> = {
  cloud1: token('cloud1', specifiedScopes),
  cloud2: token('cloud2'),
  cloud3: token('cloud3', guidePermissions),
  cloud4: wholeAccount.token,
};

/** Returns the rows of `driver check`. */
async function checked(
  given: Pick<Defect, 'provider' | 'token' | 'parameters' | 'instance'>,
): Promise<readonly PermissionReport[]> {
  const { provider, instance = node } = given;
  const name = drivers[provider];
  const running = await startEmulator({
    provider,
    tokens: [given.token ?? whole[provider]],
    instances: [{ name: instance, place: places[provider] }],
  });
  try {
    const driver = await builtinDrivers({
      ...{ localVolumeRoot: '/nowhere', hostPathAllowlist: [], allowCreateMissing: false },
      ...{ node, clusterId: 'cluster-1', drivers: { [name]: { endpoint: running.endpoint } } },
    }).get(name);
    const parameters = { ...complete[provider], ...given.parameters };
    const { signal } = new AbortController();
    const before = await running.inventory();
    const rows = await driver?.check?.({ parameters, node, signal });
    expect(await running.inventory(), 'a check changes nothing').to.deep.equal(before);
    expect(rows).not.to.equal(undefined);
    expect(JSON.stringify(rows ?? []))
      .not.to.contain(secret)
      .and.not.to.contain('PRIVATE KEY');
    return rows ?? [];
  } finally {
    await running.close();
  }
}

describe('driver check of the drivers of providers', function () {
  this.timeout(120_000);

  for (const provider of Object.keys(drivers) as ProviderName[])
    it(`finds nothing missing in a complete class of ${drivers[provider]}`, async () => {
      const rows = await checked({ provider });
      const isOwn = ({ permission }: PermissionReport): boolean =>
        !/^(programs|rights of root|device)/.test(permission);
      expect(rows.filter((row) => row.state === 'missing' && isOwn(row))).to.deep.equal([]);
    });

  it('finds nothing missing in a key without the optional permission, and shows what it is for', async () => {
    const rows = await checked({ provider: 'cloud3', token: token('cloud3', keyPermissions) });
    const own = rows.filter(({ permission }) => permission.startsWith('ec2:'));
    expect(own.filter(({ state }) => state === 'missing')).to.deep.equal([]);
    const row = own.find(({ permission }) => permission === 'ec2:DescribeVolumesModifications');
    expect(row?.state).to.equal('unknown');
    expect(row?.needed).to.contain('optional');
  });

  for (const defect of defects)
    it(`reports ${defect.what}: ${defect.row} is ${defect.state}`, async () => {
      const rows = await checked(defect);
      const row = rows.find(({ permission }) => permission === defect.row);
      expect(row?.state, JSON.stringify(rows, undefined, 1)).to.equal(defect.state);
      expect(row?.message ?? '').to.contain(defect.says ?? '');
    });

  it('has a complete key with the policy in the guide', () => {
    const guide = readFileSync(join(root, 'docs/guides/clouds.md'), 'utf8');
    const [, policy = ''] = /```json\n([^]*?)```/.exec(guide) ?? [];
    const { Statement: statements } = JSON.parse(policy) as {
      readonly Statement: readonly { readonly Action: readonly string[] }[];
    };
    const actions = statements.flatMap(({ Action: action }) => action);
    expect(actions).to.have.members([...guidePermissions]);
  });

  it('has a complete role with the permissions in the guide: those of the page of the driver, and two lists', () => {
    const page = readFileSync(join(root, 'docs/reference/drivers/cloud4-disk.md'), 'utf8');
    const guide = readFileSync(join(root, 'docs/guides/clouds.md'), 'utf8');
    const [, listed = ''] = /--permissions \\\n([^]*?[^\\])\n/.exec(guide) ?? [];
    const rows = [...page.matchAll(/^\| `(compute\.[\w.]+)` +\|/gm)].map(([, name = '']) => name);
    expect(rows).to.have.length(16);
    expect(listed.split(/[\s,\\]+/)).to.have.members([
      ...rows,
      'compute.disks.list',
      'compute.snapshots.list',
    ]);
  });

  it('has 13 seeded defects over four drivers', () => {
    expect(defects).to.have.length(13);
    expect(new Set(defects.map(({ provider }) => provider)).size).to.equal(4);
  });
});
