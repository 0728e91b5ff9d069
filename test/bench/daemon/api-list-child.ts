// A server with many objects that monitors its own event loop while a client lists them. Prints its ports, and the
// longest slices when its standard input ends.
import { MemoryEngine, openStore } from 'kedge';
import { accessControl, ApiServer } from 'kedge/server';
import { notes, notesApi } from '../measuring/notes.js';
import { watchSlices } from '../measuring/slices.js';

const store = await openStore({ engine: new MemoryEngine() });
const count = Number(process.argv[2]);
const text = 'x'.repeat(700);
for (let n = 0; n < count; n += 500)
  await store.transact(
    Array.from({ length: Math.min(500, count - n) }, (_, at) => ({
      op: 'create' as const,
      kind: notes as never,
      object: { name: `note-${n + at}`, namespace: 'default', text } as never,
    })),
  );
const identity = {
  subject: 'bench',
  kind: 'user',
  policies: [],
  tokenId: '',
  expiresAt: undefined,
} as const;
const server = new ApiServer({
  store,
  ...notesApi,
  authenticator: { authenticate: () => Promise.resolve(identity) },
  authorizer: accessControl(() => true),
});
const any = { host: '127.0.0.1', port: 0 };
const ports = await server.listen({ grpc: any, rest: any });
const ended = new Promise((resolve) => process.stdin.on('end', resolve).resume());
const slices = watchSlices(() => ended);
console.log(JSON.stringify(ports));
console.log(JSON.stringify(await slices));
process.exit(0);
