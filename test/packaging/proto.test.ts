import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { root } from '../acceptance/daemon.js';
import { tarballOf } from './packed.js';

const buf = join(root, 'node_modules/.bin/buf');

/** The fenced block of a document that begins with the name of its file. */
function example(document: string, file: string): string {
  const blocks = document.matchAll(/```yaml\n# (\S+)\n([\s\S]*?)```/g);
  const found = [...blocks].find(([, name]) => name === file);
  return found?.[2] ?? '';
}

interface FileOptions {
  readonly name: string;
  readonly options?: { readonly goPackage?: string };
}

describe('the published .proto files', function () {
  this.timeout(180_000);
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-proto-'));
    for (const name of ['@kedge/api', 'kedge']) {
      const target = join(folder, 'node_modules', name);
      await mkdir(target, { recursive: true });
      const tarball = await tarballOf(name);
      execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', target]);
    }
    const document = readFileSync(join(root, 'docs/reference/api.md'), 'utf8');
    for (const file of ['buf.yaml', 'buf.gen.yaml'])
      await writeFile(join(folder, file), example(document, file));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('compile from the packed packages alone, with the file that the reference shows', () => {
    const image = join(folder, 'image.json');
    execFileSync(buf, ['build', '-o', image], { cwd: folder });
    const { file: files } = JSON.parse(readFileSync(image, 'utf8')) as { file: FileOptions[] };
    const names = files.map(({ name }) => name);
    expect(names).to.include.members([
      'api/volume.proto',
      'kedge/field.proto',
      'kedge/object_service.proto',
      'google/api/annotations.proto',
      'google/api/field_behavior.proto',
    ]);
    for (const { name, options } of files) expect(options?.goPackage, name).to.be.a('string');
  });

  it('generate a client as the reference shows', function () {
    const hasPlugin = (process.env['PATH'] ?? '')
      .split(':')
      .some((directory) => existsSync(join(directory, 'protoc-gen-go')));
    if (!hasPlugin) {
      console.log('    skipped: protoc-gen-go is not installed');
      this.skip();
    }
    execFileSync(buf, ['generate'], { cwd: folder });
    for (const file of ['kedge.dev/api/volume.pb.go', 'kedge.dev/kedge/field.pb.go'])
      expect(existsSync(join(folder, 'gen', file)), file).to.equal(true);
  });
});
