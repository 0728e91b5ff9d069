// Holds a mounted volume until it is killed. Argument: directory of store, provider and mounts.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LevelEngine, openStore } from 'kedge';
import { LoopBlock } from './loop-block.js';
import { TestNode } from './node.js';

const [directory = ''] = process.argv.slice(2);
const store = await openStore({ engine: new LevelEngine({ directory }) });
const { driver } = new LoopBlock({ directory });
const node = await new TestNode({ store, driver, directory }).start();
await node.make('v', '16Mi');
const path = await node.mount('a', 'v');
await writeFile(join(path, 'x'), 'written before the kill');
console.log(path);
setInterval(() => undefined, 60_000);
