import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { runExample } from '../library/program.js';
import { tarballOf } from './packed.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** The program of a page, or of a part of it, with its expected output. */
interface Program {
  readonly name: string;
  readonly file: string;
  readonly code: string;
  readonly prints: string | undefined;
}

function blocks(text: string, language: string): readonly string[] {
  const pattern = new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g');
  return [...text.matchAll(pattern)].map((match) => match[1] ?? '');
}

const read = (page: string): string => readFileSync(join(root, page), 'utf8');

/**
 * Pages for embedders: those with TypeScript code, except the guide to drivers, which is about another package. Guides
 * without TypeScript are for operators.
 */
const pages = [
  'lib/README.md',
  'docs/tutorial.md',
  ...readdirSync(join(root, 'docs/guides')).map((name) => `docs/guides/${name}`),
].filter((page) => blocks(read(page), 'ts').length > 0 && !page.endsWith('/drivers.md'));

const programs: readonly Program[] = pages.flatMap((page) =>
  read(page)
    .split('<!-- another program -->')
    .map((text, n): Program => {
      const [, named] = /into `(\w+)\.ts`/.exec(text) ?? [];
      const file =
        page === 'docs/tutorial.md'
          ? (named ?? 'unnamed')
          : `${basename(page, '.md').toLowerCase()}-${n + 1}`;
      return {
        name: n === 0 ? page : `${page}, program ${n + 1}`,
        file,
        code: blocks(text, 'ts').join('\n'),
        prints: blocks(text, 'text').at(-1),
      };
    }),
);

/** Commands that set up a project, without the name of its folder. */
const setUp = (page: string): string =>
  (blocks(read(page), 'sh')[0] ?? '').replace(/^mkdir.*\n/, '');

describe('the tutorial and guides, typed into an empty folder', function () {
  this.timeout(240_000);
  let home: string;
  let project: string;

  /** Runs commands of a page with the package of this repository instead of the published one. */
  const shell = (commands: string, cwd: string): string =>
    execFileSync('bash', ['-euo', 'pipefail', '-c', commands], {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, npm_config_loglevel: 'error', npm_config_audit: 'false' },
    });

  /** The JavaScript of each program that was run. */
  const ran = new Map<string, string>();

  const runs = (times: number): void => {
    it('compiles every program with the options of tsc --init', () => {
      for (const { file, code } of programs) writeFileSync(join(project, `${file}.ts`), code);
      const printed = shell('npx tsc || true', project);
      const named = printed.replace(
        /^([\w-]+)\.ts/gm,
        (_, file: string) => programs.find((program) => program.file === file)?.name ?? file,
      );
      expect(named).to.equal('');
    });

    for (const { name, file, code, prints } of programs)
      it(`${name} prints the documented output${times > 1 ? ', also the second time' : ''}`, async () => {
        // A separate folder: programs with a store use ./data.
        const cwd = mkdtempSync(join(project, 'run-'));
        const program = join(project, `${file}.js`);
        expect(prints, 'a text block with the output').to.be.a('string');
        // Another compiler's equal JavaScript prints the same.
        const emitted = readFileSync(program, 'utf8');
        if (ran.get(file) === emitted) return;
        ran.set(file, emitted);
        for (let time = 1; time <= times; time += 1) {
          const output = await runExample(program, cwd, { code, prints });
          expect(output, `run ${time}`).to.equal(prints);
        }
      });
  };

  before(async function () {
    home = mkdtempSync(join(tmpdir(), 'kedge-guides-'));
    const tarball = await tarballOf('kedge');
    const [begin = ''] = blocks(read('docs/tutorial.md'), 'sh');
    const more = pages.flatMap((page) =>
      blocks(read(page), 'sh').filter((block) => /^npm install [^\n]*\n$/.test(block)),
    );
    const commands = [begin.replace('npm install kedge', `npm install "${tarball}"`), ...more];
    try {
      shell(commands.join('\n'), home);
    } catch (error) {
      if (process.env['CI']) throw error;
      console.log('skipped: the packages could not be installed');
      this.skip();
    }
    project = join(home, 'renewer');
  });
  after(() => rmSync(home, { recursive: true, force: true }));

  it('every page sets a project up in the same way', () => {
    const setUps = new Set(
      ['docs/tutorial.md', 'docs/guides/embedding.md', 'lib/README.md'].map(setUp),
    );
    expect([...setUps]).to.have.length(1);
  });

  describe('with the newest TypeScript', () => {
    runs(2);

    it('the tutorial runs with its own command', () => {
      const tutorial = read('docs/tutorial.md');
      const [, command = ''] = blocks(tutorial, 'sh');
      expect(shell(command, project)).to.equal(blocks(tutorial, 'text').at(-1));
    });
  });

  describe('with TypeScript 6.0', () => {
    before(() => {
      shell('npm install -D typescript@6.0 && rm tsconfig.json && npx tsc --init', project);
    });

    runs(1);
  });
});
