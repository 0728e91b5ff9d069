import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Finished, root } from '../daemon.js';

const program = join(root, 'cmd/bin/kedge.mjs');
/** Maximum time of a failing command: less than the time limit of a connection, 30 s, which it must not wait for. */
const endsWithinMs = 20_000;

describe('a command whose server is unreachable', function () {
  this.timeout(300_000);
  let home: string;

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'kedge-away-'));
    await writeFile(join(home, 'object.yaml'), 'kind: Configmap\nname: a\n');
  });
  after(() => rm(home, { recursive: true, force: true }));

  const run = (server: string, args: readonly string[], input = ''): Promise<Finished> =>
    new Promise((resolve, reject) => {
      const env = {
        PATH: process.env['PATH'],
        XDG_CONFIG_HOME: home,
        NO_COLOR: '1',
        KEDGE_SERVER: server,
        KEDGE_TOKEN: 'kedge_x',
      };
      const child = spawn(process.execPath, [program, ...args], { cwd: home, env });
      let [stdout, stderr] = ['', ''];
      child.stdout.on('data', (data) => (stdout += String(data)));
      child.stderr.on('data', (data) => (stderr += String(data)));
      child.on('error', reject);
      child.on('close', (code) => resolve({ code, stdout, stderr }));
      child.stdin.end(input);
    });

  const commands: readonly (readonly string[])[] = [
    ['get', 'volumes'],
    ['describe', 'volume', 'data'],
    ['why', 'volume/data'],
    ['cast', 'object.yaml'],
    ['whoami'],
    ['events'],
    ['health', 'service/a'],
    ['volume', 'explain', 'data'],
    ['auth', 'can-i', 'delete', 'volumes'],
    ['delete', 'volume', 'data'],
    ['scale', 'service/a', '--replicas', '2'],
    ['logs', 'a-0'],
    ['exec', 'a-0', '--', 'true'],
    ['status'],
    ['wait', 'volume', 'data', '--for', 'status=Bound'],
  ];

  for (const [what, server] of [
    ['nothing listens there', '127.0.0.1:1'],
    ['its name is unknown', 'no-such-host.invalid:7863'],
  ] as const)
    it(`fails and names the address: ${what}`, async () => {
      const done = await Promise.all(commands.map((command) => run(server, command)));
      for (const [index, { code, stdout, stderr }] of done.entries()) {
        const command = commands[index]?.join(' ');
        expect(code, `${command}: ${stdout}${stderr}`).to.be.a('number').and.not.equal(0);
        expect(stderr, command).to.contain(server.split(':')[0]);
        expect(stdout, command).to.equal('');
      }
    });

  for (const command of [
    ['logs', 'a-0'],
    ['exec', 'a-0', '--', 'true'],
  ])
    it(`ends as soon as it has failed: ${command[0]}`, async () => {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<'late'>((resolve) => {
        timer = setTimeout(() => resolve('late'), endsWithinMs);
      });
      const done = await Promise.race([run('127.0.0.1:1', command), late]);
      clearTimeout(timer);
      expect(done).to.not.equal('late');
    });

  it('connects as often for kedge why as for kedge get', async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const counts: number[] = [];
    for (const words of [
      ['get', 'volume/data'],
      ['why', 'volume/data'],
    ]) {
      connections = 0;
      const { code } = await run(address, words);
      expect(code).to.not.equal(0);
      counts.push(connections);
    }
    server.close();
    expect(counts[0]).to.be.greaterThan(1);
    expect(counts[1]).to.equal(counts[0]);
  });
});
