import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { runExample } from '../library/program.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

function blocks(document: string, language: string): readonly string[] {
  return [...document.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g'))].map(
    (match) => match[1] ?? '',
  );
}

const pages = [
  'docs/tutorial.md',
  ...readdirSync(join(root, 'docs/guides')).map((name) => `docs/guides/${name}`),
  'lib/README.md',
];
/** A page is one program, unless a comment marks the beginning of the next one. */
const programs = pages.flatMap((page) =>
  readFileSync(join(root, page), 'utf8')
    .split('<!-- another program -->')
    .map((text, n) => ({ name: n === 0 ? page : `${page}, program ${n + 1}`, text }))
    .filter(({ text }) => blocks(text, 'ts').length > 0),
);

/** The TypeScript blocks are the program; its last text block is the expected output. */
describe('examples in the documentation', function () {
  this.timeout(180_000);
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(root, 'test/dist/examples-'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    programs.forEach(({ text }, i) => {
      // A module, so that programs may use top-level await and do not share names.
      const code = `${blocks(text, 'ts').join('\n')}\nexport {};\n`;
      writeFileSync(join(folder, `example-${i}.ts`), code);
    });
    const [whole = ''] = blocks(readFileSync(join(root, 'docs/guides/drivers.md'), 'utf8'), 'ts');
    writeFileSync(join(folder, 'shelf.ts'), whole.slice(0, whole.indexOf('const root = ')));
    const compilerOptions = {
      target: 'es2022',
      lib: ['es2023', 'esnext.disposable'],
      module: 'nodenext',
      moduleResolution: 'nodenext',
      types: ['node'],
      strict: true,
      skipLibCheck: true,
      noEmitOnError: false,
    };
    const config = { compilerOptions, include: ['*.ts'] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  });
  after(() => rmSync(folder, { recursive: true }));

  it('compiles, every page', () => {
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' });
    const named = stdout.replace(
      /example-(\d+)\.ts/g,
      (_, i: string) => programs[Number(i)]?.name ?? '',
    );
    expect(named).to.equal('');
  });

  it('the driver of the guide, up to the end of createDriver, passes kedge driver test', () => {
    const guide = readFileSync(join(root, 'docs/guides/drivers.md'), 'utf8').replaceAll('\n', ' ');
    const [, args = ''] = /`kedge (driver test \.\/shelf\.js [^`]*)`/.exec(guide) ?? [];
    const kedge = join(root, 'cmd/bin/kedge.mjs');
    const { status, stdout, stderr } = spawnSync(process.execPath, [kedge, ...args.split(' ')], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(status, stdout + stderr).to.equal(0);
    expect(stdout).to.match(/^\d\d passed, \d+ left out, 0 failed$/m);
  });

  it('kedge driver test names the module that can not be loaded, the cause and the remedy', () => {
    writeFileSync(join(folder, 'typed.js'), 'export const createDriver: unknown = 1;\n');
    for (const name of ['./missing.js', './typed.js']) {
      const args = [join(root, 'cmd/bin/kedge.mjs'), 'driver', 'test', name];
      const { status, stderr } = spawnSync(process.execPath, args, {
        cwd: folder,
        encoding: 'utf8',
      });
      expect(status, stderr).to.equal(6);
      expect(stderr).to.contain(`NAME: ${name} can't be loaded (`).and.contain('compiled module');
    }
  });

  programs.forEach(({ name, text }, i) => {
    it(`runs as printed: ${name}`, async () => {
      const expected = blocks(text, 'text').at(-1);
      // A separate folder: examples with a store use ./data.
      const cwd = mkdtempSync(join(folder, 'run-'));
      const file = join(folder, `example-${i}.js`);
      const output = await runExample(file, cwd, { code: text, prints: expected });
      if (expected !== undefined) expect(output).to.equal(expected);
    });
  });
});
