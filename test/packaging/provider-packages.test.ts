import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../../..', import.meta.url));

function json(file: string): Record<string, Record<string, unknown>> {
  return JSON.parse(readFileSync(join(root, file), 'utf8')) as Record<
    string,
    Record<string, unknown>
  >;
}

const { peerDependencies, peerDependenciesMeta, dependencies } = json('drivers/package.json');
const names = Object.keys(peerDependencies!);

describe("the providers' SDKs", () => {
  it('are optional peers of @kedge/drivers, with a tested version each', () => {
    expect(names).to.deep.equal(['@aws-sdk/client-ec2', '@google-cloud/compute']);
    expect(peerDependenciesMeta).to.deep.equal(
      Object.fromEntries(names.map((name) => [name, { optional: true }])),
    );
    expect(Object.keys(dependencies!)).not.to.include.members(names);
    for (const range of Object.values(peerDependencies!))
      expect(range).to.match(/^\^\d+\.\d+\.\d+$/);
  });

  it('are not in the lock file, from which npm start installs', () => {
    const locked = Object.keys(json('package-lock.json')['packages']!);
    for (const name of names) expect(locked).not.to.include(`node_modules/${name}`);
  });

  it('are installed for tests, by the version that is recorded', () => {
    for (const [name, range] of Object.entries(peerDependencies!))
      expect(json(`node_modules/${name}/package.json`)['version'], name).to.equal(
        String(range).slice(1),
      );
  });
});
