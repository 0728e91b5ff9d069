import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { finish, root, TestDaemon, workload } from '../daemon.js';

/** The program as separate modules, because the names of loaded modules are not visible in the bundle. */
const compiled = 'cmd/dist/kedged/main.js';

describe('npm start', function () {
  this.timeout(180_000);

  it('starts the daemon, the printed commands work as printed, and SIGTERM ends it cleanly', async () => {
    const home = await mkdtemp(join(tmpdir(), 'kedge-start-'));
    const any = '127.0.0.1:0';
    const env = {
      ...process.env,
      XDG_CONFIG_HOME: join(home, 'config'),
      KEDGE_STORE_PATH: join(home, 'data'),
      KEDGE_SERVER_GRPC_ADDRESS: any,
      KEDGE_SERVER_REST_ADDRESS: any,
      KEDGE_SERVER_OPS_ADDRESS: any,
    };
    const child = spawn('npm', ['start'], { cwd: root, env });
    let output = '';
    child.stdout.on('data', (data) => (output += String(data)));
    child.stderr.on('data', (data) => (output += String(data)));
    const ended = new Promise<number | null>((resolve) => {
      child.on('close', resolve);
    });
    try {
      await eventually('the greeting', () => output.includes('Ctrl-C stops it'), 90_000);
      const commands = [...output.matchAll(/^ {2}npx (kedge .*)$/gm)].map((m) => m[1] ?? '');
      expect(commands).to.have.length(3);
      for (const command of commands) {
        const limited = command.replace(' --follow', '');
        const result = await finish('npx', limited.split(' '), env);
        expect(result.code, `${command}: ${result.stdout}${result.stderr}`).to.equal(0);
      }
    } finally {
      child.kill('SIGTERM');
      await ended;
      await rm(home, { recursive: true });
    }
    expect(output).to.contain('All volumes torn down');
  });

  it('loads neither the messages of clients nor compilers of schemas that no route has', async () => {
    const daemon = await TestDaemon.start({
      program: join(root, compiled),
      environment: { NODE_DEBUG: 'esm,module' },
    });
    const { log } = daemon;
    await daemon.dispose();
    expect(log, 'what it loads').to.match(/\/node_modules\/fastify\/fastify\.js/);
    expect(log).to.match(/\/proto\/dist\/gen\/descriptors\.js/);
    expect(log).not.to.match(/\/proto\/dist\/gen\/api\//);
    expect(log).not.to.match(/\/@fastify\/(ajv|fast-json-stringify)-compiler\//);
  });

  it('with --check-config loads configuration and store, and neither API, controllers nor drivers', async () => {
    const result = await finish(process.execPath, [compiled, '--check-config'], {
      NODE_DEBUG: 'esm,module',
    });
    expect(result.code, result.stderr).to.equal(0);
    expect(result.stderr, 'what it loads').to.match(/\/controllers\/dist\/policy\/policy\.js/);
    expect(result.stderr).to.match(/\/classic-level\//);
    expect(result.stderr).not.to.match(/\/controllers\/dist\/(index|agent|volume)/);
    expect(result.stderr).not.to.match(/\/lib\/dist\/(server|rpc)\/|\/fastify\/|\/grpc-js\//);
    // The table of the drivers says which settings they take; it loads none of them.
    expect(result.stderr).not.to.match(
      /\/drivers\/dist\/(local|cloud)|\/drivers\/sdk\/dist\/http\//,
    );
    expect(result.stderr).not.to.match(/\/prom-client\//);
  });

  it('names a word that is no command of kedged, and the command or the help that was meant', async () => {
    for (const [words, told] of [
      [['start'], /unknown command 'start'\nkedged --help lists the commands/],
      [['recover_root'], /unknown command 'recover_root'\nDid you mean kedged recover-root\?/],
      [['verify', 'a', 'b'], /too many arguments.*\n?.*Usage: kedged verify \[options\] \[file\]/],
    ] as const) {
      const result = await finish(process.execPath, ['cmd/bin/kedged.mjs', ...words]);
      expect(result.code, words.join(' ')).to.equal(2);
      expect(result.stderr).to.match(told);
    }
  });

  it('reports a port in use', async () => {
    const home = await mkdtemp(join(tmpdir(), 'kedge-port-'));
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const address = server.address() as { port: number };
    const taken = `127.0.0.1:${address.port}`;
    const args = ['cmd/bin/kedged.mjs', '--data-directory', home, '--grpc-address', taken];
    const result = await finish(process.execPath, [...args, '--rest-address', '127.0.0.1:0']);
    server.close();
    await rm(home, { recursive: true });
    expect(result.code).to.equal(1);
    expect(result.stderr).to.contain(taken).and.contain('server.grpcAddress');
    // No line of grpc-js beside that of the daemon.
    expect(result.stderr).to.not.contain('No address added');
  });
});

describe('equal names in two namespaces', function () {
  this.timeout(180_000);

  it('collide in no directory, no mount and no log', async () => {
    const daemon = await TestDaemon.start();
    try {
      const spaces = ['prod', 'production'];
      for (const name of spaces) {
        await daemon.ok('POST', '/v1/namespaces', { name });
        const { volume, service } = workload(
          daemon,
          'web',
          'echo $KEDGE_NAMESPACE | tee /data/who; sleep 1000',
        );
        const parameters = { hostPath: join(daemon.home, 'host', name), createIfMissing: 'true' };
        await daemon.ok('POST', `/v1/namespaces/${name}/volumes`, { ...volume, parameters });
        await daemon.ok('POST', `/v1/namespaces/${name}/services`, service);
      }
      for (const name of spaces) {
        const line = await eventually(`the log of ${name}`, async () => {
          const logs = await daemon.cli('logs', 'web-0', '-n', name);
          return logs.stdout === '' ? undefined : logs.stdout;
        });
        expect(line).to.equal(`${name}\n`);
        const instances = await daemon.list(`/v1/namespaces/${name}/instances`);
        expect(instances.map((i) => i.namespace)).to.deep.equal([name]);
      }
    } finally {
      await daemon.dispose();
    }
  });
});
