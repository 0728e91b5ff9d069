import { expect } from 'chai';
import { seededRandom, type StatusError } from '../../base/index.js';
import { HostileFileSystem, modelDriver } from '../../testing/index.js';
import { LevelEngine } from '../index.js';
import { encodeRecord } from '../record/record-codec.js';

describe('a failed write', () => {
  const directory = '/data';
  const record = (revision: number) =>
    encodeRecord({
      ...{ revision, index: 0, count: 1, type: 'ADDED', kind: 'Thing', key: `t${revision}` },
      ...{ json: JSON.stringify({ name: `t${revision}` }), at: 1, expiresAt: 0 },
    });

  it('is followed by no other until the database is reopened, because later records might be lost', async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const random = seededRandom(seed);
      const fileSystem = new HostileFileSystem({ random, names: 'last' });
      await fileSystem.makeDirectory(directory);
      const driver = modelDriver({ files: fileSystem, random });
      const open = async (): Promise<LevelEngine> => {
        const engine = new LevelEngine({ directory, fileSystem, driver });
        await engine.open(() => 'store');
        return engine;
      };
      const engine = await open();
      await engine.append([record(1)]);
      fileSystem.faultAt(fileSystem.calls + 1, { type: 'error', code: 'ENOSPC' });
      const outcomes = await Promise.allSettled([
        engine.saveCheckpoint({ revision: 1, objects: 1, hash: 1 }, []),
        engine.append([record(2)]),
        engine.append([record(3)]),
      ]);
      expect(outcomes[0]?.status, `seed ${seed}`).to.equal('rejected');
      await engine.close();
      const again = await open();
      const found: number[] = [];
      for await (const chunk of again.scan(0))
        for (const { revision } of chunk) found.push(revision);
      expect(found).to.include(1);
      for (const [at, outcome] of outcomes.slice(1).entries()) {
        if (outcome.status === 'fulfilled') expect(found, `seed ${seed}`).to.include(at + 2);
        else expect((outcome.reason as StatusError).reason).to.equal('WriteFailed');
      }
      await again.append([record(4)]);
      await again.close();
    }
  });
});
