import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { StatusError } from '../base/index.js';
import { type ApiObject, defineKind } from '../object/index.js';
import {
  backupToFile,
  LevelEngine,
  MemoryEngine,
  openStore,
  type ReplaceableEngine,
  restoreBackup,
} from './index.js';

const things = defineKind<ApiObject>({
  kind: 'Thing',
  plural: 'things',
  scope: 'Cluster',
  statusFields: [],
});

describe('an engine has one store at a time', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-one-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const engines: readonly [string, () => ReplaceableEngine][] = [
    ['memory', () => new MemoryEngine()],
    ['level', () => new LevelEngine({ directory: join(directory, 'data') })],
  ];
  for (const [name, make] of engines)
    it(`a second one is refused, as is a restore, until the first is closed (${name})`, async () => {
      const engine = make();
      const first = await openStore({ engine });
      await first.create(things, { name: 'a' });
      const backup = join(directory, 'backup');
      await backupToFile(first, backup);
      const attempts = [
        () => openStore({ engine }),
        () => restoreBackup(backup, engine, { replace: true }),
      ];
      for (const attempt of attempts) {
        const refused: unknown = await attempt().catch((error: unknown) => error);
        const { code, reason } = refused as StatusError;
        expect(`${code} ${reason}`).to.equal('FailedPrecondition DirectoryLocked');
      }
      await first.create(things, { name: 'b' });
      await first.close();
      await using second = await openStore({ engine });
      expect((await second.list(things)).items).to.have.length(2);
    });
});
