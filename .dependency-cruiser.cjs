const { existsSync, readdirSync } = require('node:fs');
const { join } = require('node:path');

// Which folder may import which (docs/ARCHITECTURE.md has the table). Everything not allowed here is an error.
const below = (from, to) => ({
  name: `${from} stays in its layer`,
  comment: `${from} may import only: ${to.join(', ') || 'nothing of Kedge'}`,
  severity: 'error',
  from: { path: `^${from}/`, pathNot: '\\.test\\.ts$' },
  to: {
    path: '^(lib|proto|drivers|controllers|cmd|test)/',
    pathNot: [`^${from}/`, ...to.map((path) => `^${path}/`)],
  },
});
const lib = (folder, ...to) =>
  below(
    `lib/${folder}`,
    to.map((name) => `lib/${name}`),
  );
const low = ['base', 'object'];

/** The rooms of one folder of lib, from the lowest: each may import those named, and no file beside the rooms. */
const rooms = (folder, table) =>
  Object.entries(table).map(([room, to]) => ({
    name: `${folder}/${room} stays in its room`,
    comment: `lib/${folder}/${room} may import of lib/${folder} only: ${to.join(', ') || 'itself'}`,
    severity: 'error',
    from: { path: `^lib/${folder}/${room}/`, pathNot: '\\.test\\.ts$' },
    to: {
      path: `^lib/${folder}/`,
      pathNot: [room, ...to].map((name) => `^lib/${folder}/${name}/`),
    },
  }));
/** Rooms of the store that most others stand on. */
const storage = ['engine', 'record', 'contract', 'directory'];
/** Rooms that both transports of the server stand on. */
const underTransports = ['auth', 'schema', 'api', 'objects', 'chain', 'transport'];

/** Folders of drivers: each with an index.ts, but the SDK. */
const drivers = readdirSync(join(__dirname, 'drivers')).filter(
  (name) => name !== 'sdk' && existsSync(join(__dirname, 'drivers', name, 'index.ts')),
);

module.exports = {
  forbidden: [
    { name: 'no cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'resolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    lib('base'),
    lib('object', 'base'),
    lib('store', ...low),
    lib('workqueue', 'base'),
    lib('informer', ...low),
    lib('controller', ...low, 'store', 'informer', 'workqueue'),
    lib('election', ...low, 'store'),
    lib('manager', ...low, 'informer', 'controller', 'store', 'workqueue', 'election'),
    lib('adapters', 'base'),
    lib('rpc', ...low),
    lib('client', ...low, 'rpc', 'store'),
    lib('server', ...low, 'store', 'workqueue', 'rpc', 'election', 'controller'),
    ...rooms('object', { fields: [], kinds: ['fields'] }),
    ...rooms('store', {
      engine: [],
      record: ['engine'],
      contract: ['engine'],
      directory: ['engine'],
      table: ['directory'],
      index: ['record', 'contract'],
      log: [...storage, 'index'],
      watch: ['engine', 'record', 'index'],
      writes: ['engine', 'record', 'contract', 'index', 'log'],
      level: ['engine', 'directory', 'table', 'log'],
      backup: [...storage, 'level'],
      salvage: [...storage, 'table', 'index', 'level', 'backup'],
    }),
    ...rooms('controller', {
      effects: [],
      transactions: ['effects'],
      watches: [],
      reconcile: ['effects', 'transactions', 'watches'],
    }),
    ...rooms('client', { resources: [], calls: ['resources'], remote: ['calls'] }),
    ...rooms('server', {
      auth: [],
      schema: [],
      api: ['auth', 'schema'],
      admission: ['auth', 'schema', 'api'],
      objects: ['auth', 'schema', 'api', 'admission'],
      methods: ['auth', 'schema', 'api', 'admission', 'objects'],
      chain: ['auth', 'schema', 'api', 'objects'],
      transport: ['auth', 'schema', 'api', 'chain'],
      http2: [],
      grpc: [...underTransports, 'http2'],
      rest: underTransports,
    }),
    below('lib', []),
    below('proto', ['lib']),
    below('drivers/sdk', []),
    ...drivers.map((name) => below(`drivers/${name}`, ['drivers/sdk'])),
    below('controllers', ['lib', 'proto', 'drivers/sdk']),
    {
      name: 'cmd is not imported',
      severity: 'error',
      from: { path: '^(lib|proto|drivers|controllers)/' },
      to: { path: '^cmd/' },
    },
    {
      name: 'test is not imported',
      comment: 'tests over several packages, and benchmarks, are at the top',
      severity: 'error',
      from: { path: '^(lib|proto|drivers|controllers|cmd)/' },
      to: { path: '^test/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|node_modules)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.cruise.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['types', 'import'] },
  },
};
