import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { root, TestDaemon } from '../acceptance/daemon.js';
import { busyboxImage, RealEngine, requireEngine } from './engine.js';

const page = readFileSync(join(root, 'docs/guides/workloads.md'), 'utf8');
/** The port of the node that the guide publishes. */
const guidePort = '18080';

function blocks(language: string): readonly string[] {
  const pattern = new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g');
  return [...page.matchAll(pattern)].map(([, text = '']) => text);
}

async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return String(typeof address === 'object' && address ? address.port : 0);
}

describe('the guide to workloads', function () {
  this.timeout(300_000);
  let engine: RealEngine;
  let daemon: TestDaemon;
  let folder: string;
  let port: string;

  before(async function () {
    requireEngine(this);
    engine = await RealEngine.start();
    // The images of the guide and of the examples.
    for (const name of ['busybox:stable', 'app:1']) engine.docker('tag', busyboxImage, name);
    port = await freePort();
    folder = mkdtempSync(join(tmpdir(), 'kedge-workloads-'));
    mkdirSync(join(folder, 'bin'));
    writeFileSync(
      join(folder, 'bin/kedge'),
      `#!/bin/sh\nexec "${process.execPath}" "${join(root, 'cmd/bin/kedge.mjs')}" "$@"\n`,
      { mode: 0o755 },
    );
    daemon = await TestDaemon.start({
      environment: { KEDGE_RUNTIME_DOCKER_SOCKET: engine.socketPath },
    });
  });
  after(async () => {
    await daemon?.end('SIGTERM');
    await daemon?.dispose();
    await engine?.stop();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  /** Runs a line of the guide in a separate folder. */
  function type(line: string): { readonly code: number | null; readonly output: string } {
    const { status, stdout, stderr } = spawnSync('bash', ['-o', 'pipefail', '-c', line], {
      cwd: folder,
      encoding: 'utf8',
      input: 'exit\n',
      timeout: 120_000,
      env: {
        ...process.env,
        ...daemon.cliEnvironment,
        DOCKER_HOST: `unix://${engine.socketPath}`,
        PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
      },
    });
    return { code: status, output: stdout + stderr };
  }

  for (const [n, text] of blocks('yaml').entries())
    it(`file ${n + 1} of the guide is cast, and everything in it runs`, () => {
      const file = join(folder, `${n}.yaml`);
      writeFileSync(file, text.replaceAll(guidePort, port));
      const cast = type(`kedge cast --timeout 60 ${file}`);
      expect(cast.code, cast.output).to.equal(0);
      expect(cast.output).to.contain('created');
    });

  for (const text of blocks('sh'))
    for (const line of text.split('\n').filter((each) => each !== ''))
      it(`a command of the guide works: ${line}`, () => {
        const { code, output } = type(line.replaceAll(guidePort, port));
        expect(code, output).to.equal(0);
      });

  it('a program that does not run as root has a capability in its bounding set only', () => {
    const file = join(folder, 'rights.yaml');
    const [service = ''] = blocks('yaml').filter((text) => text.includes('capabilities: [none]'));
    const renamed = service.replace('name: limited', 'name: bound');
    writeFileSync(file, renamed.replace('[none]', '[net_bind_service]'));
    const cast = type(`kedge cast --timeout 60 ${file}`);
    expect(cast.code, cast.output).to.equal(0);
    const rightsOf = (name: string): string =>
      type(`kedge exec ${name} -- grep -E '^Cap(Eff|Bnd)|NoNewPrivs' /proc/1/status`).output;
    const rights = (bound: string): RegExp =>
      new RegExp(`CapEff:\\s0{16}\nCapBnd:\\s${bound}\nNoNewPrivs:\\s1\n`);
    expect(rightsOf('bound-0')).to.match(rights('0000000000000400'));
    expect(rightsOf('limited-0')).to.match(rights('0000000000000000'));
  });

  it('replicas.yaml of the examples runs: each replica writes to its own volume', async () => {
    const cast = type(`kedge cast --timeout 60 ${join(root, 'docs/examples/replicas.yaml')}`);
    expect(cast.code, cast.output).to.equal(0);
    for (const n of [0, 1, 2])
      await eventually(`the notes of notes-${n}`, () => {
        const { code, output } = type(`kedge exec notes-${n} -- cat /data/notes`);
        return code === 0 && output !== '';
      });
  });
});
