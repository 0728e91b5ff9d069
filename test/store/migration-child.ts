// Opens a store and kills itself at a call of the file system. Arguments: directory, number of the call, 0 for
// none. Prints the number of calls if it was not killed.
import { type FileSystem, LevelEngine, nodeFileSystem, openStore } from 'kedge';

const [directory = '', killAt = '0'] = process.argv.slice(2);
let calls = 0;
const counted = new Proxy(nodeFileSystem, {
  get: (target, name: keyof FileSystem) => {
    calls += 1;
    if (calls === Number(killAt)) process.kill(process.pid, 'SIGKILL');
    return Reflect.get(target, name) as unknown;
  },
});
const engine = new LevelEngine({ directory, fileSystem: counted, copiedBeforeMigration: ['kek'] });
const store = await openStore({ engine });
const opening = calls;
await store.close();
console.log(opening);
