import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storeConformance } from '../testing/index.js';
import { LevelEngine, MemoryEngine, openStore } from './index.js';

const capabilities = { durable: true, denseRevisions: true };
const runner = { describe, it };

storeConformance({
  name: 'memory',
  capabilities,
  runner,
  subject: async () => {
    const engine = new MemoryEngine();
    return { open: () => openStore({ engine }), cleanUp: async () => undefined };
  },
});

storeConformance({
  name: 'level',
  capabilities,
  runner,
  subject: async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kedge-store-'));
    return {
      open: () => openStore({ engine: new LevelEngine({ directory }) }),
      cleanUp: () => rm(directory, { recursive: true }),
    };
  },
});
