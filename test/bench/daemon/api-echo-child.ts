// The baselines of the API benchmark: a bare grpc-js server and a bare fastify route that answer with the request's
// bytes, in a separate process. Prints its ports.
import { Server, ServerCredentials } from '@grpc/grpc-js';
import Fastify from 'fastify';

const [grpcText = '', restText = ''] = process.argv.slice(2);
const grpcBytes = Buffer.from(grpcText, 'base64');
const restBytes = Buffer.from(restText, 'base64').toString();

const raw = (bytes: Buffer): Buffer => bytes;
const server = new Server();
server.addService(
  {
    Echo: {
      path: '/echo.Echo/Echo',
      requestStream: false,
      responseStream: false,
      requestSerialize: raw,
      requestDeserialize: raw,
      responseSerialize: raw,
      responseDeserialize: raw,
    },
  },
  { Echo: (_call: unknown, callback: (e: null, b: Buffer) => void) => callback(null, grpcBytes) },
);
const grpc = await new Promise<number>((resolve, reject) => {
  server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
    if (error) reject(error);
    else resolve(port);
  });
});
const app = Fastify({ logger: false });
app.get('/v1/echo/:name', (_request, reply) =>
  reply.type('application/json; charset=utf-8').send(restBytes),
);
await app.listen({ host: '127.0.0.1', port: 0 });
const address = app.server.address();
const rest = typeof address === 'object' && address !== null ? address.port : 0;
console.log(JSON.stringify({ grpc, rest }));
process.stdin.on('end', () => process.exit(0)).resume();
