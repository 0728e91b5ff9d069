import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { root } from '../acceptance/daemon.js';
import { benchmarks } from '../bench/benchmarks.js';
import { soaks } from '../soak/suites.js';

/** A rule for files, with a sample that breaks it. */
interface Rule {
  readonly name: string;
  readonly files: RegExp;
  readonly problems: (path: string, text: string) => readonly string[];
  readonly bad: readonly [path: string, text: string];
}

const lines = (text: string, pattern: RegExp): string[] =>
  text.split('\n').filter((line) => pattern.test(line));

/** The anchors of the headings of a document. */
function anchorsOf(file: string, path: string, text: string): ReadonlySet<string> {
  const content = file === path ? text : readFileSync(join(root, file), 'utf8');
  const headings = lines(content.replaceAll(/```[^]*?```/g, ''), /^#+ /);
  return new Set(
    headings.map((heading) =>
      heading
        .replace(/^#+ /, '')
        .toLowerCase()
        .replaceAll(/[^\w\s-]/g, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  );
}

/** Numbers of the decision pages. */
const decisions: ReadonlySet<string> = new Set(
  readdirSync(join(root, 'docs/decisions')).map((name) => name.slice(0, 4)),
);

/** Sections of the specification, and numbered items below them such as `5.3.2`. */
const specified: ReadonlySet<string> = (() => {
  const found = new Set<string>();
  let section = '';
  for (const line of readFileSync(join(root, 'docs/specification.md'), 'utf8').split('\n')) {
    section = /^#+ (\d(?:\.\d+)*)/.exec(line)?.[1] ?? section;
    found.add(section);
    const item = /^(\d+)\. /.exec(line)?.[1];
    if (item) found.add(`${section}.${item}`);
  }
  return found;
})();

/** Scripts of npm, and the names that those with a list accept. */
const scripts: ReadonlySet<string> = new Set(
  Object.keys(
    (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object }).scripts,
  ),
);
const namesOf: Readonly<Record<string, readonly string[]>> = {
  soak: Object.keys(soaks),
  bench: Object.keys(benchmarks),
};

const rules: readonly Rule[] = [
  {
    name: 'no file is named after utils, helpers, types, misc or common',
    files: /\.ts$/,
    problems: (path) => (/(^|\/)(utils?|helpers?|types|misc|common)\.ts$/.test(path) ? [path] : []),
    bad: ['lib/utils.ts', ''],
  },
  {
    name: 'file names are kebab-case',
    files: /\.ts$/,
    problems: (path) =>
      /^[a-z0-9]+(-[a-z0-9]+)*(\.test)?\.ts$/.test(path.split('/').at(-1) ?? '') ? [] : [path],
    bad: ['lib/fooBar.ts', ''],
  },
  {
    name: 'remedies read messages by their forms; one table has the patterns for texts of other programs',
    files: /^controllers\/reasons\/(?!runtime\/engine-texts\.ts).*(?<!\.test)\.ts$/,
    problems: (_, text) => lines(text, /\.(exec|test|match|matchAll|search)\(/),
    bad: ['controllers/reasons/a.ts', 'const [, name] = /volume (\\S+)/.exec(message) ?? [];'],
  },
  {
    name: 'no leftovers',
    files: /\.(ts|mjs|sh)$/,
    problems: (path, text) =>
      path.endsWith('tidy.test.ts') ? [] : lines(text, /\b(TODO|FIXME|XXX)\b|\.only\(|@ts-ignore/),
    bad: ['a.ts', '// TODO later'],
  },
  {
    name: 'comments cite only what is in the repository',
    files: /\.(ts|mjs|sh|proto)$/,
    problems: (path, text) =>
      path.endsWith('tidy.test.ts')
        ? []
        : lines(
            text,
            /\bresearch\/[a-z]+\.md|\bdesign\.md|\bfindings\/[a-z]+\.md|\b[Ll]essons? \d/,
          ),
    bad: ['a.ts', '// see design.md section 4'],
  },
  {
    name: 'module folders say what they promise',
    files: /^(lib|controllers)\/[a-z-]+\/index\.ts$/,
    problems: (_path, text) => (text.startsWith('/**') ? [] : ['no paragraph at the top']),
    bad: ['lib/x/index.ts', 'export {}'],
  },
  {
    name: 'documents have exactly one level-1 heading',
    files: /\.md$/,
    problems: (_path, text) => {
      const headings = lines(text.replaceAll(/```[^]*?```/g, ''), /^# /);
      return headings.length === 1 ? [] : [`${headings.length} level-1 headings`];
    },
    bad: ['a.md', '# One\n# Two'],
  },
  {
    name: 'links in documents lead to a file, and to a heading of it',
    files: /\.md$/,
    problems: (path, text) =>
      [...text.matchAll(/\]\(([^):]+)\)/g)]
        .map((m) => m[1] ?? '')
        .filter((link) => {
          const [target = '', anchor] = link.split('#');
          const file = target === '' ? path : join(dirname(path), target);
          if (!existsSync(join(root, file))) return true;
          return (
            anchor !== undefined && file.endsWith('.md') && !anchorsOf(file, path, text).has(anchor)
          );
        }),
    bad: ['README.md', '[x](#nowhere)'],
  },
  {
    name: 'documents name paths that exist',
    files: /^(?!CHANGELOG).*\.md$/,
    problems: (_path, text) =>
      [...text.matchAll(/`((?:lib|proto|drivers|controllers|cmd|test|docs|scripts)\/[\w./-]+)`/g)]
        .map((m) => m[1] ?? '')
        .filter((target) => !/\/(dist|gen|node_modules)\//.test(target))
        .filter((target) => !existsSync(join(root, target))),
    bad: ['a.md', '`lib/nowhere/file.ts`'],
  },
  {
    name: 'scripts of npm, soaks and benchmarks that are cited exist',
    files: /\.(ts|mjs|md)$/,
    problems: (path, text) =>
      path.endsWith('tidy.test.ts')
        ? []
        : [...text.matchAll(/\bnpm\s+run\s+([a-z]+)(?:\s+--\s+([a-z][a-z-]*))?/g)]
            .filter(
              ([, script = '', name]) =>
                !scripts.has(script) ||
                (name !== undefined && namesOf[script]?.includes(name) === false),
            )
            .map(([cited]) => cited),
    bad: ['a.md', 'npm run soak -- nothing'],
  },
  {
    name: 'decisions that are cited exist',
    files: /\.(ts|mjs|sh|proto|md)$/,
    problems: (path, text) =>
      path.endsWith('tidy.test.ts')
        ? []
        : [...text.matchAll(/\bdecisions? (\d{4})\b/g)]
            .map((m) => m[1] ?? '')
            .filter((number) => !decisions.has(number)),
    bad: ['a.ts', '// decision 9999'],
  },
  {
    name: 'sections and rules of the specification that are cited exist',
    files: /\.(ts|mjs|sh|proto|md)$/,
    problems: (path, text) =>
      path.endsWith('tidy.test.ts')
        ? []
        : [...text.matchAll(/\b[Ss]pecification (?:section )?(\d(?:\.\d+)*|rule \d+)/g)]
            .map((m) => (m[1] ?? '').replace('rule ', '7.'))
            .filter((section) => !specified.has(section)),
    bad: ['a.ts', '// specification section 5.9'],
  },
];

const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && !path.includes('/gen/') && existsSync(join(root, path)));

describe('tidiness', () => {
  for (const rule of rules) {
    it(rule.name, () => {
      const found = tracked
        .filter((path) => rule.files.test(path))
        .flatMap((path) =>
          rule.problems(path, readFileSync(join(root, path), 'utf8')).map((p) => `${path}: ${p}`),
        );
      expect(found).to.deep.equal([]);
    });
    it(`${rule.name} (the rule detects a breach)`, () => {
      expect(rule.problems(...rule.bad)).to.have.length.greaterThan(0);
    });
  }

  it('cmd/version.ts has the version of cmd/package.json', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'cmd/package.json'), 'utf8')) as {
      version: string;
    };
    expect(readFileSync(join(root, 'cmd/version.ts'), 'utf8')).to.contain(`'${version}'`);
  });
});
