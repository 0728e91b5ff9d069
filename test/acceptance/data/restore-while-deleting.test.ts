import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import type { Held } from '../../fixtures/held-calls.js';
import { finish, root, TestDaemon } from '../daemon.js';

const volumes = '/v1/namespaces/default/volumes';
const kedged = join(root, 'cmd/bin/kedged.mjs');

describe('a backup that is restored while the data of a volume is being deleted', function () {
  this.timeout(240_000);
  let daemon: TestDaemon;
  let held: string;
  let file: string;

  beforeEach(async () => {
    daemon = await TestDaemon.start({
      program: join(root, 'test/dist/acceptance/data/kedged-with-held-calls.js'),
    });
    held = join(daemon.home, 'held');
    file = join(daemon.home, 'store.backup');
  });
  afterEach(() => daemon.dispose());

  /** Creates a volume with a file in it. @returns its directory */
  async function make(name: string): Promise<string> {
    const more = { size: '1Mi', accessMode: 'ReadWriteOnce', reclaimPolicy: 'delete' };
    await daemon.ok('POST', volumes, { name, storageClassName: 'local', ...more });
    const handle = await eventually(`${name} to be Available`, async () => {
      const { body } = await daemon.rest('GET', `${volumes}/${name}`);
      return body.status === 'Available' ? String(body.handle) : undefined;
    });
    await writeFile(join(handle, 'file'), name);
    return handle;
  }
  const content = (handle: string): Promise<string> => readFile(join(handle, 'file'), 'utf8');
  const gone = (name: string): Promise<unknown> =>
    eventually(
      `${name} to go`,
      async () => (await daemon.rest('GET', `${volumes}/${name}`)).status === 404,
      60_000,
    );
  async function backup(): Promise<void> {
    const made = await daemon.cli('admin', 'backup', file);
    expect(made.code, made.stderr).to.equal(0);
  }
  /** Deletes a volume; resolves while the call of the driver does not return. */
  async function deleteHeld(name: string, at: 'before' | 'after'): Promise<void> {
    const call: Held = `delete ${at}`;
    await writeFile(held, call);
    await daemon.ok('DELETE', `${volumes}/${name}`);
    await eventually('the call of the driver', () => daemon.log.includes('"call held"'));
  }
  /** Kills the daemon in the call, restores the backup, and starts a daemon whose calls return. */
  async function restore(): Promise<void> {
    await daemon.end('SIGKILL');
    await rm(held);
    const args = [kedged, 'restore', file, '--replace', '--data-directory', daemon.data];
    const restored = await finish(process.execPath, args);
    expect(restored.code, restored.stderr).to.equal(0);
    await daemon.run();
  }

  for (const at of ['before', 'after'] as const)
    it(`and was created meanwhile: the deletion is resumed, and nothing else is deleted (killed ${at} the data was deleted)`, async () => {
      const going = await make('going');
      const staying = await make('staying');
      await deleteHeld('going', at);
      await backup();
      const later = await make('later');
      expect(existsSync(going)).to.equal(at === 'before');
      await restore();
      await gone('going');
      expect(existsSync(going)).to.equal(false);
      expect(await content(staying)).to.equal('staying');
      // The restored store does not have it: an operator must decide about its data.
      expect((await daemon.rest('GET', `${volumes}/later`)).status).to.equal(404);
      expect(await content(later)).to.equal('later');
      expect((await daemon.ok('GET', `${volumes}/staying`)).status).to.equal('Available');
    });

  for (const at of ['before', 'after'] as const)
    it(`and was created earlier: the volume is restored, and its deletion ends (killed ${at} the data was deleted)`, async () => {
      const going = await make('going');
      const staying = await make('staying');
      await backup();
      await deleteHeld('going', at);
      await restore();
      const path = `${volumes}/going`;
      const back = await daemon.ok('GET', path);
      expect(back.metadata).to.not.have.property('deletionRequestedAt');
      // A new volume is provisioned: the controllers of this process run, and delete nothing on their own.
      expect(await content(await make('next'))).to.equal('next');
      expect((await daemon.ok('GET', path)).status).to.equal('Available');
      expect(existsSync(going)).to.equal(at === 'before');
      const deleted = await daemon.cli('delete', 'volume', 'going');
      expect(deleted.code, deleted.stderr).to.equal(0);
      await gone('going');
      expect(existsSync(going)).to.equal(false);
      expect(await content(staying)).to.equal('staying');
    });
});
