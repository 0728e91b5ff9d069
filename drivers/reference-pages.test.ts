import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Driver } from '@kedge/driver-sdk';
import type { ErrorRow } from '@kedge/driver-sdk/provider';
import { allScopes } from './cloud1-volume/credentials.js';
import { cloud1Errors } from './cloud1-volume/errors.js';
import { cloud2Errors } from './cloud2-volume/errors.js';
import { cloud3Errors } from './cloud3-block/errors.js';
import { permissions } from './cloud3-block/permissions.js';
import { cloud4Errors } from './cloud4-disk/errors.js';
import { allPermissions } from './cloud4-disk/permissions.js';
import { builtinDrivers } from './index.js';

const registry = builtinDrivers({
  localVolumeRoot: '/nowhere',
  hostPathAllowlist: ['/nowhere'],
  allowCreateMissing: false,
});
/** With it, the tables that follow from declarations are written into the pages. */
const writes = process.env['KEDGE_WRITE_PAGES'] === '1';

const errors: Readonly<Record<string, readonly ErrorRow[]>> = {
  'cloud1-volume': cloud1Errors,
  'cloud2-volume': cloud2Errors,
  'cloud3-block': cloud3Errors,
  'cloud4-disk': cloud4Errors,
};

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The text of all sources below folders, without tests. */
function sourcesOf(...folders: readonly string[]): string {
  return folders
    .flatMap((folder) => {
      const paths = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
      return paths.map((path) => join(root, folder, path));
    })
    .filter((path) => /(?<!\.test|\.d)\.ts$/.test(path) && !/node_modules|\/dist\//.test(path))
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n');
}

function fileOf(name: string): string {
  return join(root, 'docs/reference/drivers', `${name}.md`);
}

/** A table of Markdown with columns of one width. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, n) => Math.max(...all.map((row) => row[n]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

/** The first table below a heading. */
function tableBelow(page: string, heading: string): string {
  const [, below = ''] = page.split(`\n## ${heading}\n`);
  return /^\|[^]*?\|$(?=\n\n|\n?$(?![^]))/m.exec(below)?.[0] ?? '';
}

/** Cells of a table without its head. */
function cells(text: string): readonly (readonly string[])[] {
  return text
    .split('\n')
    .slice(2)
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()));
}

/** Key, whether it is required, and values of each parameter, as the driver validates them. */
function parametersOf(driver: Driver): readonly (readonly string[])[] {
  const violationsOf = (parameters: Readonly<Record<string, string>>) =>
    driver.validateParameters(parameters, { level: 'volume' });
  const [unknown] = violationsOf({ 'no-parameter': 'x' }).filter(
    ({ key }) => key === 'no-parameter',
  );
  const keys = /its parameters: (.*)$/.exec(unknown?.description ?? '')?.[1]?.split(', ') ?? [];
  const required = violationsOf({}).map(({ key }) => key);
  const { sensitiveParameters } = driver.capabilities();
  const isNumber = (key: string): boolean =>
    violationsOf({ [key]: 'none' }).some(
      (one) => one.key === key && /whole number/.test(one.description),
    );
  return keys.map((key) => {
    const judged = violationsOf({ [key]: '(none of them)' }).filter((one) => one.key === key);
    const values = judged
      .map(({ description }) => /use one of (.*)$/.exec(description)?.[1])
      .find((found) => found !== undefined);
    const plain = isNumber(key) ? 'whole number' : 'text';
    const form = sensitiveParameters.includes(key) ? 'secret' : plain;
    return [`\`${key}\``, required.includes(key) ? 'yes' : 'no', values ?? form];
  });
}

function capabilitiesOf(driver: Driver): string {
  const can = driver.capabilities();
  const growth = can.onlineExpand ? 'also while in use' : 'while not in use';
  return table(
    ['Capability', 'Value'],
    [
      ['access modes', can.accessModes.join(', ')],
      ['snapshots', can.snapshots ? 'yes' : 'no'],
      ['growth', can.expand ? growth : 'no'],
      ['block device, formatted at the first mount', can.blockDevice ? 'yes' : 'no'],
      ['volumes of a machine', String(can.attachLimit ?? 'no limit')],
      ['label of nodes that can use a volume', can.topologyKeys.map((key) => `\`${key}\``).join()],
      ['reclaim policy delete', can.ownsData ? 'yes' : 'no: the data is yours'],
    ],
  );
}

function refusalsOf(rows: readonly ErrorRow[]): string {
  return table(
    ['Answer, for example', 'Reason', 'Remedy'],
    rows.map(({ kind, remedy = '', example: { status, code, message } }) => [
      `${status} \`${code}\`: ${message}`,
      kind,
      remedy,
    ]),
  );
}

function writeBelow(name: string, heading: string, wanted: string): void {
  const page = readFileSync(fileOf(name), 'utf8');
  const present = tableBelow(page, heading);
  if (present !== '')
    writeFileSync(
      fileOf(name),
      page.replace(present, () => wanted),
    );
}

for (const name of [
  'local',
  'local-host',
  'cloud1-volume',
  'cloud2-volume',
  'cloud3-block',
  'cloud4-disk',
])
  describe(`the reference page of ${name}`, () => {
    let driver: Driver;
    let page: string;
    before(async () => {
      driver = (await registry.get(name))!;
      if (writes) {
        writeBelow(name, 'What it can', capabilitiesOf(driver));
        const rows = errors[name];
        if (rows) writeBelow(name, 'Refusals of the provider', refusalsOf(rows));
      }
      page = readFileSync(fileOf(name), 'utf8');
    });

    it('has each parameter as the driver validates it, and no other, with its meaning', () => {
      const rows = cells(tableBelow(page, 'Parameters'));
      expect(rows.map((row) => row.slice(0, 3))).to.deep.equal(parametersOf(driver));
      for (const row of rows) expect(row[3], row[0]).to.match(/\w{3}/);
    });

    it('has messages that the sources have', () => {
      const sources = sourcesOf(`drivers/${name}`, 'drivers/sdk', 'controllers/agent');
      const messages = cells(tableBelow(page, 'Messages')).flatMap(([cell = '']) =>
        [...cell.matchAll(/`([^`]*)`/g)].map(([, text = '']) => text),
      );
      expect(messages).to.have.length.above(2);
      for (const message of messages) expect(sources).to.contain(message);
    });

    it('has the capabilities that the driver declares', () => {
      expect(tableBelow(page, 'What it can')).to.equal(capabilitiesOf(driver));
    });

    it('has each refusal of the provider that the driver knows, with its reason and remedy', function () {
      const rows = errors[name];
      if (!rows) return expect(page).not.to.contain('## Refusals of the provider');
      return expect(tableBelow(page, 'Refusals of the provider')).to.equal(refusalsOf(rows));
    });
  });

describe('the permissions on the reference page of cloud3-block', () => {
  it('are those that the driver checks, also in the policy', () => {
    const wanted = table(
      ['Permission', 'Needed for'],
      permissions.map(({ action, needed }) => [`\`ec2:${action}\``, needed]),
    );
    if (writes) writeBelow('cloud3-block', 'Permissions of the credentials', wanted);
    const page = readFileSync(fileOf('cloud3-block'), 'utf8');
    expect(tableBelow(page, 'Permissions of the credentials')).to.equal(wanted);
    const policy = /```json\n([^]*?)```/.exec(page)?.[1] ?? '';
    const [statement] = (JSON.parse(policy) as { Statement: [{ Action: string[] }] }).Statement;
    expect(statement.Action).to.have.members(permissions.map(({ action }) => `ec2:${action}`));
  });
});

describe('the permissions on the reference page of cloud4-disk', () => {
  it('are those that the driver names, and no others', () => {
    const rows = allPermissions.map(({ permission, needed }) => [`\`${permission}\``, needed]);
    const heading = 'Permissions of the service account';
    if (writes) writeBelow('cloud4-disk', heading, table(['Permission', 'For'], rows));
    const page = readFileSync(fileOf('cloud4-disk'), 'utf8');
    expect(cells(tableBelow(page, heading))).to.deep.equal(rows);
  });
});

describe('the scopes on the reference page of cloud1-volume', () => {
  it('are those that the driver names, and no others', () => {
    const page = readFileSync(fileOf('cloud1-volume'), 'utf8');
    const rows = cells(tableBelow(page, 'Scopes of the token'));
    expect(rows).to.deep.equal(allScopes.map(({ scope, needed }) => [`\`${scope}\``, needed]));
  });
});
