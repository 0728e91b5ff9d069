import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { root, TestDaemon } from '../daemon.js';
import { runner } from './run.js';

/** The paths of the shells in Debian's packages bash, zsh and fish. */
const shells = ['bash', 'zsh', 'fish'] as const;

describe('completion', function () {
  this.timeout(240_000);
  let daemon: TestDaemon;
  const run = runner(() => daemon);
  let environment: NodeJS.ProcessEnv;
  const typing: ChildProcess[] = [];
  before(async () => {
    daemon = await TestDaemon.start();
    await daemon.ok('POST', '/v1/namespaces', { name: 'staging' });
    for (const name of ['journal', 'ledger'])
      await daemon.ok('POST', '/v1/namespaces/default/volumes', {
        name,
        size: '16Mi',
        accessMode: 'ReadWriteOnce',
      });
    const bin = join(daemon.home, 'bin');
    await mkdir(bin);
    const program = join(root, 'cmd/bin/kedge.mjs');
    const text = `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`;
    await writeFile(join(bin, 'kedge'), text, { mode: 0o755 });
    environment = {
      ...process.env,
      ...daemon.cliEnvironment,
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      HOME: daemon.home,
      TERM: 'dumb',
    };
  });
  afterEach(() => {
    for (const child of typing.splice(0)) child.kill('SIGKILL');
  });
  after(() => daemon.dispose());

  const complete = async (...words: readonly string[]): Promise<string[]> => {
    const { stdout } = await daemon.cli('__complete', '--', ...words);
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split('\t')[0] ?? '');
  };

  it('offers matching commands, options, types, names, fields and values', async () => {
    const cases: readonly (readonly [readonly string[], readonly string[]])[] = [
      [['descr'], ['describe']],
      [['volume', 'ret'], ['retry-provision']],
      [['get', 'vol'], ['volumes']],
      [['get', 'volumes', 'jou'], ['journal']],
      [
        ['delete', 'volume/'],
        ['volume/journal', 'volume/ledger'],
      ],
      [
        ['volume', 'resize', ''],
        ['journal', 'ledger'],
      ],
      [['get', 'volumes', 'journal', ''], ['ledger']],
      [['get', 'volumes', '-n', 'stag'], ['staging']],
      [['get', 'volumes', '-n', 'staging', ''], []],
      [['get', 'volumes', '--select'], ['--selector']],
      [
        ['get', '--output=js'],
        ['--output=json', '--output=jsonpath='],
      ],
      [['scale', ''], ['services']],
      [['explain', 'volume.acc'], ['volume.accessMode']],
      [['admin', 'orphans', '--class', 'local-'], ['local-host']],
      [['auth', 'can-i', 'rev'], ['reveal']],
      [
        ['completion', ''],
        ['bash', 'zsh', 'fish'],
      ],
      [['cast', ''], [':files']],
      [['get', 'volums', ''], []],
      [['nonsense', ''], []],
    ];
    for (const [words, expected] of cases)
      expect(await complete(...words), words.join(' ')).to.deep.equal(expected);
    expect(await complete(''))
      .to.include.members(['cast', 'get', 'wait'])
      .and.not.include('__complete');
  });

  it('without a server offers commands and options, and prints no error', async () => {
    const away = { ...environment, KEDGE_SERVER: '127.0.0.1:1' };
    const ask = (...words: readonly string[]) =>
      spawnSync('kedge', ['__complete', '--', ...words], { env: away, encoding: 'utf8' });
    const names = ask('get', 'volumes', '');
    expect([names.status, names.stdout, names.stderr]).to.deep.equal([0, '', '']);
    expect(ask('get', 'vol').stdout).to.contain('volumes');
  });

  for (const shell of shells)
    describe(`in ${shell}`, () => {
      before(function () {
        if (spawnSync('which', [shell]).status === 0) return;
        if (process.env['CI']) throw new Error(`${shell} is missing: .ci/run installs it`);
        this.skip();
      });

      it('is a script that the shell accepts', async () => {
        const file = join(daemon.home, `completion.${shell}`);
        await writeFile(file, await run(`completion ${shell}`));
        const done = spawnSync(shell, ['-n', file], { encoding: 'utf8', env: environment });
        expect(done.stderr).to.equal('');
        expect(done.status).to.equal(0);
      });
    });

  /** Types into a shell on a terminal until its output contains the expected text. */
  async function type(
    command: string,
    setUp: string,
    lines: readonly (readonly [keys: string, expected: RegExp])[],
  ): Promise<void> {
    const child = spawn('script', ['-qefc', command, '/dev/null'], { env: environment, cwd: root });
    typing.push(child);
    let output = '';
    child.stdout.on('data', (data) => (output += String(data)));
    child.stdin.write(`${setUp}; echo re""ady\n`);
    await eventually('the shell', () => output.includes('ready'), 60_000);
    for (const [keys, expected] of lines) {
      output = '';
      child.stdin.write(keys);
      await eventually(`${JSON.stringify(keys)} in ${output}`, () => expected.test(output), 60_000);
      // Ctrl-U clears the line.
      child.stdin.write('\u0015');
    }
    child.stdin.write('exit\n');
  }

  const lines = [
    ['kedge descr\t', /kedge descr.*ibe/],
    ['kedge get vol\t', /kedge get vol.*umes/],
    ['kedge get volumes jou\t', /volumes jou.*rnal/],
    ['kedge delete volume/led\t', /volume\/led.*ger/],
    ['kedge get volumes -n stag\t', /-n stag.*ing/],
    ['kedge cast READ\t', /cast READ.*ME\.md/],
  ] as const;

  it('completes on a terminal in bash', async () => {
    const setUp = `bind 'set bell-style none'; source <(kedge completion bash)`;
    await type('bash --norc --noprofile -i', setUp, lines);
  });

  it('completes on a terminal in zsh', async function () {
    if (spawnSync('which', ['zsh']).status !== 0) this.skip();
    const setUp = `autoload -Uz compinit; compinit -u -D; unsetopt zle_bracketed_paste; source <(kedge completion zsh)`;
    await type('zsh -f -i', setUp, lines);
  });

  it('completes in fish, by its own engine', function () {
    if (spawnSync('which', ['fish']).status !== 0) this.skip();
    const ask = (line: string): string[] => {
      const script = `kedge completion fish | source; complete -C ${JSON.stringify(line)}`;
      const done = spawnSync('fish', ['--no-config', '-c', script], {
        encoding: 'utf8',
        env: environment,
        cwd: root,
      });
      expect(done.stderr).to.equal('');
      return done.stdout.split('\n').map((found) => found.split('\t')[0] ?? '');
    };
    expect(ask('kedge descr')).to.include('describe');
    expect(ask('kedge get volumes ')).to.include.members(['journal', 'ledger']);
    expect(ask('kedge delete volume/led')).to.include('volume/ledger');
    expect(ask('kedge cast READ')).to.include('README.md');
  });
});
