import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { finish, root } from '../acceptance/daemon.js';

const text = readFileSync(join(root, 'docs/tutorial-operators.md'), 'utf8');

interface Step {
  readonly commands: string;
  /** Lines of the text block after the commands. The words of each appear in one output line, in this order. */
  readonly prints: readonly string[];
}

const steps: readonly Step[] = [
  ...text.matchAll(/```sh\n([^]*?)```(?:\n\n```text\n([^]*?)```)?/g),
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

describe('the tutorial for operators', function () {
  this.timeout(240_000);
  let home: string;
  let output: readonly string[];
  let code: number | null;

  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'kedge-operators-'));
    const bin = join(home, 'bin');
    mkdirSync(bin);
    for (const name of ['kedge', 'kedged'])
      writeFileSync(
        join(bin, name),
        `#!/bin/sh\nexec "${process.execPath}" "${join(root, `cmd/bin/${name}.mjs`)}" "$@"\n`,
        { mode: 0o755 },
      );
    const [grpc, rest, ops] = [await freePort(), await freePort(), await freePort()];
    const on = (port: number): string => `127.0.0.1:${port}`;
    const mark = '=== next step';
    const script = steps
      .map(({ commands }) =>
        commands
          .replaceAll(on(7861), on(rest))
          .replaceAll(on(7864), on(ops))
          .replace('kedge login', `kedge login --server ${on(grpc)}`),
      )
      .join(`echo '${mark}'\n`);
    // A failed step must not leave a running daemon or workloads.
    const end = "trap 'status=$?; kill $! 2>/dev/null || true; wait; exit $status' EXIT\n";
    const all = `cd "${home}"\n${end}${script}`;
    const ended = await finish('bash', ['-euo', 'pipefail', '-c', `{ ${all}\n} 2>&1`], {
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      HOME: home,
      XDG_CONFIG_HOME: join(home, 'config'),
      NO_COLOR: '1',
      KEDGE_SERVER_GRPC_ADDRESS: on(grpc),
      KEDGE_SERVER_REST_ADDRESS: on(rest),
      KEDGE_SERVER_OPS_ADDRESS: on(ops),
    });
    code = ended.code;
    output = (ended.stdout + ended.stderr).split(`${mark}\n`);
  });
  after(() => rmSync(home, { recursive: true, force: true }));

  it('runs to its end', () => {
    expect(code, output.at(-1)).to.equal(0);
    expect(output).to.have.length(steps.length);
  });

  steps.forEach(({ commands, prints }, i) => {
    if (prints.length === 0) return;
    it(`prints the documented output after: ${commands.split('\n')[0]}`, () => {
      const lines = (output[i] ?? '').split('\n');
      for (const line of prints)
        expect(
          lines.some((printed) => pattern(line).test(printed)),
          `${line}\n${output[i]}`,
        ).to.equal(true);
    });
  });
});
