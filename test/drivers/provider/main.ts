// The provider as a separate process. Arguments: its folder, and ids of instances by the names of nodes as JSON. It
// listens on `provider.sock` in the folder, and keeps its state in `state.json` beside it.
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Engine } from './engine.js';
import { Faults } from './faults.js';
import { ProviderServer } from './server.js';
import { StateFile } from './state.js';

const [folder = '', instances = '{}'] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
const file = new StateFile(join(folder, 'state.json'));
await file.load();
const engine = new Engine(file, folder);
engine.resume();
const named = JSON.parse(instances) as Readonly<Record<string, string>>;
const { server } = new ProviderServer(engine, new Faults(), named);
const socket = join(folder, 'provider.sock');
// The socket of a killed process.
await rm(socket, { force: true });
server.listen(socket, () => console.log('listening'));
