import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { root } from '../acceptance/daemon.js';

interface Part {
  readonly name: string;
  readonly specs: readonly string[];
}

const parts = pathToFileURL(join(root, 'scripts/parts.mjs')).href;

/** Runs a script with the exports of scripts/parts.mjs. */
function evaluate(
  script: string,
  env: NodeJS.ProcessEnv = {},
): { readonly status: number | null; readonly stdout: string } {
  const text = `import { runParts, suiteParts, unitParts } from '${parts}';\n${script}`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', text], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
}

/** The built file of a test file of the repository. */
function built(path: string): string {
  const folder = path.startsWith('drivers/sdk/') ? 'drivers/sdk' : (path.split('/')[0] ?? '');
  return `${folder}/dist/${path.slice(folder.length + 1).replace(/\.ts$/, '.js')}`;
}

describe('the parts in which the suites run', () => {
  it('contain every test file of the repository once', () => {
    const { stdout } = evaluate('console.log(JSON.stringify([...unitParts(), ...suiteParts()]))');
    const specs = (JSON.parse(stdout) as readonly Part[]).flatMap((part) => part.specs);
    expect(new Set(specs).size).to.equal(specs.length);
    const listed = execFileSync('git', ['ls-files', '*.test.ts'], { cwd: root, encoding: 'utf8' });
    expect(specs).to.include.members(listed.trim().split('\n').map(built));
  });

  it('with files that run apart have a process for each file, and one sum', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kedge-parts-'));
    try {
      const specs = ['one', 'two'].map((name) => join(folder, `${name}.test.mjs`));
      const body = `it('holds', () => { console.log('pid', process.pid); });\n`;
      for (const spec of specs) await writeFile(spec, body);
      const { status, stdout } = evaluate(
        `runParts(${JSON.stringify([{ name: 'apart', specs, apart: true }])})`,
      );
      expect(status, stdout).to.equal(0);
      expect(new Set(stdout.match(/pid \d+/g))).to.have.property('size', 2);
      expect(stdout).to.match(/^2 passed, 0 failed, 0 skipped$/m);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('all run and are summed up when one fails or is killed, and the failures are named', async function () {
    this.timeout(180_000);
    const folder = await mkdtemp(join(tmpdir(), 'kedge-parts-'));
    try {
      const spec = async (name: string, body: string): Promise<Part> => {
        const path = join(folder, `${name}.test.mjs`);
        await writeFile(path, `it('${name} holds', () => { ${body} });\n`);
        return { name, specs: [path] };
      };
      const given = [
        await spec('wrong', "throw new Error('wrong')"),
        await spec('killed', "process.kill(process.pid, 'SIGKILL')"),
        await spec('right', ''),
      ];
      const file = join(folder, 'sum.json');
      const { status, stdout } = evaluate(`runParts(${JSON.stringify(given)})`, {
        KEDGE_TOTALS_FILE: file,
      });
      expect(status).to.equal(1);
      const { failed, reasons, ...counts } = JSON.parse(await readFile(file, 'utf8')) as {
        failed: readonly string[];
        reasons: readonly string[];
      };
      expect(counts).to.deep.equal({ passes: 1, failures: 2, pending: 0 });
      // Parts run at the same time, so either may end first.
      const named = ['killed: mocha ended with SIGKILL', 'wrong holds'];
      expect(failed).to.have.members(named);
      for (const name of named) expect(stdout).to.contain(`failed: ${name}\n`);
      expect(reasons[failed.indexOf('wrong holds')]).to.match(/^Error: wrong\n/);
      expect(stdout).to.contain('failed: wrong holds\n  Error: wrong\n');
      expect(stdout).to.match(/\n1 passed, 2 failed, 0 skipped\n$/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('run more at a time while processors are idle', async function () {
    const cores = availableParallelism();
    if (cores === 1) this.skip();
    this.timeout(180_000);
    const count = Math.min(cores + 1, 5) + cores;
    const folder = await mkdtemp(join(tmpdir(), 'kedge-parts-'));
    try {
      const given = [];
      for (let n = 0; n < count; n += 1) {
        const path = join(folder, `${n}.test.mjs`);
        await writeFile(
          path,
          `import { existsSync, writeFileSync } from 'node:fs';
          it('waits for all others', function (done) {
            this.timeout(60_000);
            writeFileSync('${join(folder, String(n))}', '');
            const timer = setInterval(() => {
              for (let n = 0; n < ${count}; n += 1) if (!existsSync('${folder}/' + n)) return;
              clearInterval(timer);
              done();
            }, 50);
          });`,
        );
        given.push({ name: String(n), specs: [path] });
      }
      const idle = '{ busy: () => 0, everyMs: 100 }';
      const { status, stdout } = evaluate(`runParts(${JSON.stringify(given)}, [], ${idle})`);
      expect(stdout).to.contain(`\n${count} passed, 0 failed, 0 skipped\n`);
      expect(status).to.equal(0);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('end if a test leaves a handle open, which is a failure', async function () {
    this.timeout(180_000);
    const folder = await mkdtemp(join(tmpdir(), 'kedge-parts-'));
    try {
      const path = join(folder, 'open.test.mjs');
      await writeFile(path, "it('leaves a timer', () => void setInterval(() => undefined, 1000));");
      const given = [{ name: 'open', specs: [path] }];
      const { status, stdout } = evaluate(`runParts(${JSON.stringify(given)})`, {
        KEDGE_LEFTOVER_MS: '500',
      });
      expect(status).to.equal(1);
      expect(stdout).to.contain('failed: open: mocha ended with exit code 1\n');
      expect(stdout).to.match(/1 passed, 1 failed, 0 skipped\n$/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('name the line of the source where a test fails', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kedge-parts-'));
    try {
      const spec = join(folder, 'built.js');
      // One line of a source, a.ts, which became the second line of the built file.
      const map = { version: 3, sources: ['a.ts'], names: [], mappings: ';AAAA' };
      await writeFile(
        spec,
        "\nit('fails', () => { throw new Error('x'); });\n//# sourceMappingURL=built.js.map\n",
      );
      await writeFile(`${spec}.map`, JSON.stringify(map));
      await writeFile(join(folder, 'package.json'), '{"type":"module"}');
      const { stdout } = evaluate(`runParts([{ name: 'built', specs: ['${spec}'] }])`);
      expect(stdout)
        .to.match(/\/a\.ts:1:1\b/)
        .and.not.contain('built.js:2');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('are refused if one contains no test', () => {
    const { status } = evaluate("runParts([{ name: 'nothing', specs: [] }])");
    expect(status).to.not.equal(0);
  });
});
