import { type FileHandle, mkdtemp, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { replaceFile } from './replace-file.js';

describe('replacing a file as a whole', () => {
  let folder: string;
  let path: string;
  let handles: FileHandle;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-replaced-'));
    path = join(folder, 'file');
    const handle = await open(folder);
    await handle.close();
    handles = Object.getPrototypeOf(handle) as FileHandle;
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('syncs the new content before the rename, and the folder after it', async () => {
    await writeFile(path, 'old');
    const seen: string[] = [];
    const sync = Reflect.get(handles, 'sync');
    handles.sync = async function (this: FileHandle): Promise<void> {
      await sync.call(this);
      const kind = (await this.stat()).isDirectory() ? 'folder' : 'file';
      seen.push(`${kind} synced, ${await readFile(path, 'utf8')} is there`);
    };
    try {
      await replaceFile(path, 'new');
    } finally {
      handles.sync = sync;
    }
    expect(seen).to.deep.equal(['file synced, old is there', 'folder synced, new is there']);
  });

  it('replaces a longer draft that a crash left, and sets mode 0600', async () => {
    await writeFile(`${path}.new`, 'half of a longer text');
    await replaceFile(path, 'new');
    expect(await readFile(path, 'utf8')).to.equal('new');
    expect((await stat(path)).mode & 0o777).to.equal(0o600);
  });

  it('keeps the old file if it fails', async () => {
    await writeFile(path, 'old');
    const error: unknown = await replaceFile(join(path, 'below'), 'new').catch((e: unknown) => e);
    expect(error).to.have.property('code', 'ENOTDIR');
    expect(await readFile(path, 'utf8')).to.equal('old');
  });
});
