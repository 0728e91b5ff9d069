import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { finish, root } from '../acceptance/daemon.js';
import { busyboxImage, RealEngine, requireEngine } from '../containers/engine.js';
import { cleanUp, requireDevices } from '../drivers/devices.js';

const page = (name: string): string => readFileSync(join(root, 'docs/guides', name), 'utf8');

/** Drivers of the guide that do not provision yet, by the page that says so. */
const notYet = ['cloud1-volume', 'cloud2-volume'].filter((driver) =>
  new RegExp(`\`${driver}\` .*not yet`).test(page('storage.md')),
);

/** Commands, and the lines that they print; the words of each line appear in one printed line, in this order. */
interface Step {
  readonly commands: string;
  readonly prints: readonly string[];
}

const steps: readonly Step[] = [
  ...page('clouds-on-a-laptop.md').matchAll(/```sh\n([^]*?)```(?:\n\n```text\n([^]*?)```)?/g),
].map(([, commands = '', prints = '']) => ({
  commands,
  prints: prints.split('\n').filter((line) => line !== ''),
}));

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}

function pattern(line: string): RegExp {
  const words = line.split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(words.join('.*'));
}

/** The ports of the guide, each replaced by a free one. */
async function replacedPorts(): Promise<ReadonlyMap<string, string>> {
  const guide = ['7861', '7864', '9701', '9702'];
  const free = await Promise.all(
    guide.map(async (port) => [port, String(await freePort())] as const),
  );
  return new Map(free);
}

describe('the guide to cloud classes on a laptop', function () {
  this.timeout(300_000);
  let home: string;
  let engine: RealEngine | undefined;
  let output: readonly string[];
  let code: number | null;
  let ports: ReadonlyMap<string, string>;

  before(async function () {
    if (notYet.length > 0) {
      console.log(`skipped: ${notYet.join(', ')} do not provision yet`);
      this.skip();
    }
    requireEngine(this);
    requireDevices(this);
    home = mkdtempSync(join(tmpdir(), 'kedge-laptop-'));
    engine = await RealEngine.start();
    const bin = join(home, 'bin');
    mkdirSync(bin);
    for (const name of ['kedge', 'kedged'])
      writeFileSync(
        join(bin, name),
        `#!/bin/sh\nexec "${process.execPath}" "${join(root, `cmd/bin/${name}.mjs`)}" "$@"\n`,
        { mode: 0o755 },
      );
    ports = await replacedPorts();
    const [grpc, port] = [await freePort(), (of: string): string => ports.get(of) ?? of];
    const emulators = join(root, 'test/dist/emulators/command/main.js');
    const given = `--cloud1-port ${port('9701')} --cloud2-port ${port('9702')} --cloud3-port 0 --cloud3-metadata-port 0`;
    const mark = '=== next step';
    const script = steps
      .map(({ commands }) => {
        const moved = [...ports].reduce(
          (text, [of, to]) => text.replaceAll(`:${of}/`, `:${to}/`),
          commands,
        );
        return moved
          .replaceAll(
            'npm run --silent emulators --',
            `"${process.execPath}" "${emulators}" ${given}`,
          )
          .replaceAll('busybox:1', busyboxImage)
          .replace('kedge login', `kedge login --server 127.0.0.1:${grpc}`);
      })
      .join(`echo '${mark}'\n`);
    // A failed step must not leave a running daemon or emulators.
    const end =
      "trap 'status=$?; tail -n 20 kedged.log emulators.log; kill $daemon $emulators 2>/dev/null || true; wait; exit $status' EXIT\n";
    const all = `cd "${home}"\n${end}${script}trap - EXIT\n`;
    // A step that would wait forever ends here, with its output.
    const bash = ['240', 'bash', '-euo', 'pipefail', '-c', `{ ${all}\n} 2>&1`];
    const ended = await finish('timeout', bash, {
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      HOME: home,
      XDG_CONFIG_HOME: join(home, 'config'),
      NO_COLOR: '1',
      KEDGE_RUNTIME_DOCKER_SOCKET: engine.socketPath,
      KEDGE_SERVER_GRPC_ADDRESS: `127.0.0.1:${grpc}`,
      KEDGE_SERVER_REST_ADDRESS: `127.0.0.1:${port('7861')}`,
      KEDGE_SERVER_OPS_ADDRESS: `127.0.0.1:${port('7864')}`,
    });
    code = ended.code;
    output = (ended.stdout + ended.stderr).split(`${mark}\n`);
  });
  after(async () => {
    await engine?.stop();
    if (home) await cleanUp(home);
  });

  it('runs to its end', () => {
    expect(code, output.join('\n')).to.equal(0);
    expect(output).to.have.length(steps.length);
  });

  steps.forEach(({ commands, prints }, n) => {
    if (prints.length === 0) return;
    it(`prints the lines of the guide after: ${commands.split('\n')[0]}`, () => {
      const lines = (output[n] ?? '').split('\n');
      for (const line of prints) {
        const moved = [...ports].reduce((text, [of, to]) => text.replace(`:${of}`, `:${to}`), line);
        const found = lines.some((printed) => pattern(moved).test(printed));
        expect(found, `${line}\n${output[n]}`).to.equal(true);
      }
    });
  });
});
