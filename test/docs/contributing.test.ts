import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect } from 'chai';
import { root } from '../acceptance/daemon.js';
import { readRecipe } from '../soak/recipes.js';

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const page = 'docs/guides/contributing.md';

/** Handwritten files other than tests. */
const sources = execFileSync('git', ['ls-files', '*.ts', '*.mjs', '*.cjs', '*.json'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => /^(lib|proto|drivers|controllers|cmd|scripts|\.[^/]+$)/.test(path))
  .filter((path) => !/\/gen\/|\.test\.|\/testing\//.test(path) && existsSync(join(root, path)));
const naming = (text: string): readonly string[] =>
  sources.filter((path) => read(path).includes(text));

/** Files that a recipe of docs/guides/kinds.md writes; `made` are those of its commands. */
function filesOf(recipe: string, ...made: readonly string[]): readonly string[] {
  const written = readRecipe(recipe).flatMap((step) => ('path' in step ? [step.path] : []));
  return [...new Set([...made, ...written])].sort();
}

describe('the tasks of a newcomer', () => {
  it('every file that the page links to exists', () => {
    const links = [...read(page).matchAll(/\]\(([^)#]+)\)/g)].map(([, link = '']) => link);
    expect(links).to.have.length.above(10);
    for (const link of links) expect(existsSync(join(root, dirname(page), link)), link).to.be.true;
  });

  it('a field on Volume is one file', () => {
    expect(filesOf('Add a field')).to.deep.equal(['proto/api/volume.proto']);
  });

  it('a kind is two files and a folder', () => {
    const files = filesOf('Add a kind', 'proto/api/bucket.proto');
    expect(files.filter((path) => !path.startsWith('controllers/bucket/'))).to.deep.equal([
      'controllers/kinds/list.ts',
      'proto/api/bucket.proto',
    ]);
  });

  it('a driver is its file and a line: nothing else names it', () => {
    // The built-in class and rules of nodes name the drivers of the host.
    const clouds = readdirSync(join(root, 'drivers')).filter((name) => name.startsWith('cloud'));
    expect(clouds).to.have.length(4);
    for (const name of clouds) {
      const others = naming(name).filter((path) => !path.startsWith(`drivers/${name}/`));
      expect(others, name).to.deep.equal(['drivers/index.ts']);
    }
  });

  it('a command is its file and its lines in the list: nothing but commands imports it', () => {
    const commands = sources.filter((path) => path.startsWith('cmd/kedge/commands/'));
    expect(commands).to.have.length.above(30);
    const listed = commands.filter((path) => {
      const file = `/${basename(path, '.ts')}.js'`;
      return read('cmd/kedge/commands.ts').includes(file);
    });
    for (const path of listed) {
      const below = `${basename(dirname(path))}/${basename(path, '.ts')}.js'`;
      const importing = naming(below).filter((other) => !other.startsWith('cmd/kedge/commands'));
      expect(importing, path).to.deep.equal([]);
    }
    expect(listed).to.include('cmd/kedge/commands/access/whoami.ts');
  });

  it('an illegal transition is refused in one file', () => {
    const refusing = naming("'IllegalTransition'").filter((path) => path.startsWith('lib/'));
    expect(refusing).to.deep.equal(['lib/store/writes/transitions.ts']);
  });

  it('the retry policy is one file', () => {
    expect(naming('defaultPolicy: ControllerPolicy')).to.deep.equal([
      'controllers/policy/policy.ts',
    ]);
  });
});
