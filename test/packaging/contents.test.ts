import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { tarballOf } from './packed.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  readonly bin?: Readonly<Record<string, string>>;
  readonly files: readonly string[];
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly workspaces?: readonly string[];
}

async function manifestOf(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8')) as Manifest;
}

/** Names of the files in a published package. */
async function packed(name: string): Promise<ReadonlySet<string>> {
  const list = execFileSync('tar', ['-tzf', await tarballOf(name)], { encoding: 'utf8' });
  return new Set(list.split('\n').map((path) => path.replace(/^package\//, '')));
}

/** All texts in a value: the targets of `exports`, with nested conditions. */
function texts(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(texts) : [];
}

/** The targets of a document's links, except external ones and anchors. */
function links(text: string): readonly string[] {
  const found = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return found.filter((target) => !/^([a-z]+:|#)/.test(target)).map((t) => t.replace(/#.*/, ''));
}

const published: (readonly [string, Manifest])[] = [];
for (const folder of (await manifestOf('.')).workspaces ?? []) {
  const manifest = await manifestOf(folder);
  if (manifest.private !== true) published.push([folder, manifest]);
}

describe('the content of published packages', function () {
  this.timeout(180_000);

  for (const [folder, manifest] of published)
    it(`${manifest.name} contains the files that its package.json and its documents name`, async () => {
      const files = await packed(manifest.name);
      const held = (path: string): boolean =>
        files.has(path) || [...files].some((file) => file.startsWith(`${path}/`));
      for (const listed of manifest.files)
        if (!listed.startsWith('!')) expect(held(listed), `"files" lists ${listed}`).to.equal(true);
      for (const target of [...texts(manifest.exports), ...texts(manifest.bin)])
        expect(files.has(normalize(target)), `"exports" or "bin" leads to ${target}`).to.equal(
          true,
        );
      expect(files.has('LICENSE'), 'the license that it names').to.equal(true);
      for (const document of [...files].filter((file) => file.endsWith('.md'))) {
        const text = await readFile(join(root, folder, document), 'utf8');
        for (const target of links(text))
          expect(
            held(normalize(join(dirname(document), target))),
            `${document} links to ${target}, which is not in the package`,
          ).to.equal(true);
      }
    });

  it('the library, the API and the driver SDK are published', () => {
    expect(published.map(([, { name }]) => name)).to.include.members([
      'kedge',
      '@kedge/api',
      '@kedge/driver-sdk',
    ]);
  });
});
