import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { allKinds } from '@kedge/controllers/kinds';
import { root } from '../acceptance/daemon.js';

const library = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'lib/*.ts'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && !path.includes('/gen/') && existsSync(join(root, path)))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

const declared = (kind: string): boolean =>
  library.some(({ path, text }) => !path.endsWith('.test.ts') && text.includes(`kind: '${kind}'`));
const foreign = allKinds.filter(({ kind }) => !declared(kind));

/** Kinds whose names have no other meaning in a controller library. */
const unmistakable = /\b(volumes?|storage ?class(es)?|configmaps?)\b/i;
/** The same kinds as a part of an identifier, such as `VolumeService` or `newVolumeName`. */
const inIdentifier =
  /(\b[vV]|V)olumes?[A-Z]|(\b[sS]|S)torageClass(es)?[A-Z]|(\b[cC]|C)onfigMaps?[A-Z]/;
/** A kind or its plural as an identifier: the whole text, or with a part such as `/status`. */
const named = new RegExp(
  `['"\`](${foreign.flatMap(({ kind, plural }) => [kind, plural]).join('|')})(/[a-z]+)?['"\`]`,
);
/** A registry of gRPC has services. */
const ofGrpc = "withMethods('a SchemaRegistry', 'services')";

/** Lines of a text that name a kind of Kedge. */
function naming(text: string): readonly string[] {
  return text
    .split('\n')
    .filter((line) => !line.includes(ofGrpc))
    .filter((line) => [unmistakable, inIdentifier, named].some((words) => words.test(line)));
}

describe('the layers', () => {
  it('nothing in lib names a kind of Kedge, its tests and examples included', () => {
    const found = library.flatMap(({ path, text }) =>
      naming(text).map((line) => `${path}: ${line.trim()}`),
    );
    expect(found).to.deep.equal([]);
  });

  it('a named kind is found, and another word is not', () => {
    expect(foreign.map(({ kind }) => kind)).to.include.members(['Volume', 'Namespace', 'Service']);
    const lines = [
      "served.get('Namespace')",
      "resource: 'instances/status'",
      '// as a Volume',
      '/** Such as `VolumeService.Get`. */',
      'const volumeName = text;',
      "kind: 'Lamp'",
      '// a service of gRPC on Node.js, with a snapshot of the store',
    ];
    expect(naming(lines.join('\n'))).to.deep.equal(lines.slice(0, 5));
  });

  it('no import is upward or circular, in tests too', function () {
    this.timeout(300_000);
    const run = spawnSync('node', ['scripts/boundaries.mjs'], { cwd: root, encoding: 'utf8' });
    expect(run.status, run.stderr).to.equal(0);
  });
});
