// Serves jobs from a store on disk until it is killed. Arguments: directory, port (0 for any).
// Prints the port and a token of a worker, as JSON.
import { LevelEngine, openStore } from 'kedge';
import { ApiServer, issueToken, makeToken, policies, users } from 'kedge/server';
import { api, workerRules } from './jobs.js';

const [, , directory = '', port = '0'] = process.argv;
const store = await openStore({ engine: new LevelEngine({ directory }) });
if (!(await store.get(users, { name: 'worker' }))) {
  await store.create(policies, { name: 'worker', rules: workerRules });
  await store.create(users, { name: 'worker', policies: ['worker'] });
}
const { text: token } = await issueToken(store, { subject: 'worker' }, Date.now(), makeToken());
const server = new ApiServer({ store, ...api });
const host = '127.0.0.1';
const ports = await server.listen({ grpc: { host, port: Number(port) }, rest: { host, port: 0 } });
console.log(JSON.stringify({ event: 'serving', port: ports.grpc, token }));
