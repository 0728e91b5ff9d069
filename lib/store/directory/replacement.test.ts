import { expect } from 'chai';
import { seededRandom } from '../../base/index.js';
import { HostileFileSystem } from '../../testing/index.js';
import type { FileSystem } from './file-system.js';
import { beginReplacement, commitReplacement, finishReplacement } from './replacement.js';

const directory = '/data';

async function write(files: FileSystem, path: string, text: string): Promise<void> {
  const file = await files.open(path, 'w');
  await file.write(Buffer.from(text), 0);
  await file.sync();
  await file.close();
}

async function store(files: FileSystem, folder: string, content: string): Promise<void> {
  await files.makeDirectory(`${folder}/db`);
  await write(files, `${folder}/db/CURRENT`, content);
  await write(files, `${folder}/db/000005.ldb`, content.repeat(500));
  await write(files, `${folder}/high-water`, content);
}

/** A synced disk with a store. */
async function prepared(seed: number, names: 'any' | 'last'): Promise<HostileFileSystem> {
  const files = new HostileFileSystem({ random: seededRandom(seed), names });
  await store(files, directory, 'old');
  for (const path of ['/', directory, `${directory}/db`]) await files.syncDirectory(path);
  return files;
}

async function replace(files: FileSystem): Promise<void> {
  const folder = await beginReplacement(files, directory);
  // The engine that fills the new store syncs only its own files.
  await store(files, folder, 'new');
  await commitReplacement(files, directory);
}

/** The content of the store in the directory. */
async function found(files: FileSystem): Promise<string> {
  const text = async (path: string): Promise<string> => (await files.readFile(path)).toString();
  const parts = [
    await text(`${directory}/db/CURRENT`),
    (await text(`${directory}/db/000005.ldb`)).slice(0, 3),
    await text(`${directory}/high-water`),
  ];
  const sizes = await files.size(`${directory}/db/000005.ldb`);
  return `${parts.join(' ')} ${sizes}`;
}

const old = 'old old old 1500';
const fresh = 'new new new 1500';

describe('replacement of a store', () => {
  for (const names of ['any', 'last'] as const) {
    it(`leaves the complete old or new store, regardless of which of its calls and of those of later openings lose power (${names})`, async () => {
      const undisturbed = await prepared(0, names);
      const before = undisturbed.calls;
      await replace(undisturbed);
      const calls = undisturbed.calls - before;
      const outcomes = new Set<string>();
      for (let call = 1; call <= calls + 1; call += 1) {
        for (let seed = 0; seed < 30; seed += 1) {
          const files = await prepared(seed, names);
          files.faultAt(files.calls + call, { type: 'powerLoss' });
          const done = await replace(files).then(
            () => true,
            () => false,
          );
          files.restart();
          // Openings are interrupted as well, each at a later call.
          for (let later = 1; later < 40; later += 1) {
            files.faultAt(files.calls + later, { type: 'powerLoss' });
            const opened = await finishReplacement(files, directory).then(
              () => true,
              () => false,
            );
            if (opened) break;
            files.restart();
          }
          // After another power loss, finished work of an opening must remain.
          files.restart();
          await finishReplacement(files, directory);
          const what = await found(files);
          expect([old, fresh], `call ${call}, seed ${seed}`).to.include(what);
          if (done) expect(what).to.equal(fresh);
          outcomes.add(what);
          const left = (await files.readDirectory(directory)).map(({ name }) => name).sort();
          const clean = left.filter((name) => !name.startsWith('replaced-'));
          expect(clean).to.deep.equal(['db', 'high-water']);
          // The replaced store is kept completely.
          if (what === fresh) expect(left).to.have.length.greaterThan(2);
        }
      }
      expect([...outcomes].sort()).to.deep.equal([fresh, old]);
    });
  }

  it('leaves the old or the new store if any call fails, and the next opening finishes it', async () => {
    const undisturbed = await prepared(0, 'any');
    const before = undisturbed.calls;
    await replace(undisturbed);
    const calls = undisturbed.calls - before;
    for (const type of ['error', 'errorAfter'] as const) {
      for (let call = 1; call <= calls; call += 1) {
        const files = await prepared(call, 'any');
        files.faultAt(files.calls + call, { type, code: 'ENOSPC' });
        await replace(files).catch(() => undefined);
        await finishReplacement(files, directory);
        expect([old, fresh], `call ${call}`).to.include(await found(files));
        await replace(files);
        expect(await found(files)).to.equal(fresh);
      }
    }
  });
});
