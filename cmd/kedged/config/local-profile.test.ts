import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { messageOf } from 'kedge';
import { prepareExampleDirectory, prepareExamples } from './local-profile.js';

describe('the directory of the examples', () => {
  let base: string;
  let shared: string;
  const uid = process.getuid?.() ?? 0;
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'kedge-examples-'));
    shared = join(base, 'kedge');
  });
  afterEach(() => rm(base, { recursive: true }));

  it('is the one that they name, for the first user', async () => {
    expect(await prepareExampleDirectory(shared, uid)).to.equal(shared);
    expect(await prepareExampleDirectory(shared, uid)).to.equal(shared);
  });

  it('is not created with the mode leave', async () => {
    expect(await prepareExampleDirectory(shared, uid, 'leave')).to.equal(shared);
    expect(existsSync(shared)).to.equal(false);
    await symlink(base, shared);
    expect(await prepareExampleDirectory(shared, uid, 'leave')).to.equal(`${shared}-${uid}`);
    expect(existsSync(`${shared}-${uid}`)).to.equal(false);
  });

  it('is a directory of the user if the shared one is not private, and is refused if others can write to it', async () => {
    await symlink(base, shared);
    expect(await prepareExampleDirectory(shared, uid)).to.equal(`${shared}-${uid}`);
    await chmod(`${shared}-${uid}`, 0o777);
    const refused = await prepareExampleDirectory(shared, uid).catch(messageOf);
    expect(refused).to.contain(`${shared}-${uid} is not a directory that only you can write to`);
  });

  it('is a separate directory for a second user', async function () {
    if (process.getuid?.() !== 0) this.skip();
    await mkdir(shared, { mode: 0o700 });
    await mkdir(`${shared}-64124`, { mode: 0o700 });
    await chown(`${shared}-64124`, 64_124, 64_124);
    expect(await prepareExampleDirectory(shared, 64_124)).to.equal(`${shared}-64124`);
  });

  it('replaces the shared directory in copies of the examples', async () => {
    const folder = await prepareExamples('/var/tmp/kedge-64124', base);
    const text = await readFile(join(folder, 'journal.yaml'), 'utf8');
    expect(text).to.contain('hostPath: /var/tmp/kedge-64124/journal');
    expect(text).to.not.contain('/var/tmp/kedge/');
  });
});
