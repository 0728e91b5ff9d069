import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { seededRandom } from '../../base/index.js';
import { type FileSystem, LevelEngine, nodeFileSystem } from '../index.js';

describe('names of logs', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-logs-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const logs = (): string[] =>
    readdirSync(join(directory, 'db')).filter((name) => name.endsWith('.log'));

  for (const [what, sizeMax] of [
    ['small', 120],
    ['middling', 1_500],
    ['large', 30_000],
  ] as const) {
    it(`are durable before a write in one is acknowledged, also of ${what} records`, async () => {
      let durable = new Set<string>();
      let reads = 0;
      const fileSystem: FileSystem = {
        ...nodeFileSystem,
        async syncDirectory(path) {
          const names = path.endsWith('db') ? logs() : undefined;
          await nodeFileSystem.syncDirectory(path);
          if (names) durable = new Set(names);
        },
        readDirectory(path) {
          if (path.endsWith('db')) reads += 1;
          return nodeFileSystem.readDirectory(path);
        },
      };
      const engine = new LevelEngine({ directory, fileSystem, writeBufferBytes: 64 * 1024 });
      await engine.open(() => 'id');
      const random = seededRandom(sizeMax);
      let appends = 0;
      const seen = new Set<string>();
      for (let revision = 1; seen.size < 5; appends += 1) {
        const count = 1 + Math.floor(random.next() * 3);
        const records = Array.from({ length: count }, (_, index) => ({
          revision,
          index,
          bytes: Buffer.alloc(1 + Math.floor(random.next() * sizeMax), 1),
        }));
        revision += 1;
        await engine.append(records);
        if (revision % 50 === 0)
          await engine.saveCheckpoint({ revision: revision - 40, objects: 0, hash: 0 });
        const present = logs().sort();
        for (const name of present) seen.add(name);
        expect([...durable], `append ${appends}`).to.include(present.at(-1));
      }
      await engine.close();
      expect(reads, 'reads of the directory').to.be.lessThan(appends / 2 + 30);
    });
  }
});
