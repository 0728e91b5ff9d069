import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { type Command, CommanderError } from 'commander';
import { examplesOf } from './examples.js';
import { kedgeProgram } from './program.js';
import { leafCommands, referencePage } from './reference.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** The whole program, with commands that do nothing. */
function harmless(): Command {
  const program = kedgeProgram();
  const quiet = (command: Command): void => {
    command.configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
    if (command.commands.length === 0) command.action(() => undefined);
    for (const inner of command.commands) quiet(inner);
  };
  quiet(program);
  return program;
}

/** The calls of kedge in a shell line, each split as by the shell. */
function calls(line: string): readonly (readonly string[])[] {
  const found = line.match(/\bkedge (?:'[^']*'|"[^"]*"|[^'"|<>)])*/g) ?? [];
  return found.map((text) => {
    const script = `kedge() { printf '%s\\0' "$@"; }; ${text}`;
    const { stdout } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
    return stdout.split('\0').slice(0, -1);
  });
}

describe('every command of kedge', () => {
  const leaves = leafCommands(kedgeProgram());

  it('has an example, and all examples are valid command lines', async () => {
    for (const { command, path } of leaves) {
      const examples = examplesOf(command);
      expect(examples, path.join(' ')).to.not.deep.equal([]);
      expect(
        examples.some(({ line }) => line.includes(path.join(' '))),
        path.join(' '),
      ).to.equal(true);
      for (const { line, about } of examples) {
        expect(about, line).to.match(/^[A-Z]/);
        const found = calls(line);
        expect(found, line).to.not.deep.equal([]);
        for (const words of found)
          await harmless()
            .parseAsync([...words], { from: 'user' })
            .catch((error: unknown) => {
              throw new Error(`${line}: ${String(error)}`, { cause: error });
            });
      }
    }
  });

  it('shows its examples in its help, and a group of commands those of its commands', () => {
    const groups = kedgeProgram().commands.filter(({ commands }) => commands.length > 0);
    expect(groups).to.not.deep.equal([]);
    const paths = groups.map((group) => ['kedge', group.name()]);
    for (const path of [...paths, ...leaves.map((leaf) => leaf.path)]) {
      const program = kedgeProgram();
      let help = '';
      const gather = (command: Command): void => {
        command.configureOutput({ writeOut: (text) => (help += text) });
        for (const inner of command.commands) gather(inner);
      };
      gather(program);
      expect(() => program.parse([...path.slice(1), '--help'], { from: 'user' })).to.throw(
        CommanderError,
      );
      expect(help, path.join(' ')).to.contain('Examples:\n  # ');
    }
  });

  it('is on the reference page, which is up to date', () => {
    const page = readFileSync(join(root, 'docs/reference/cli.md'), 'utf8');
    const hint = 'run node scripts/cli-reference.mjs';
    expect(page === referencePage(kedgeProgram()), hint).to.equal(true);
  });

  it('exists if the documentation names it', () => {
    const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => join('docs', name));
    const wrong: string[] = [];
    let seen = 0;
    for (const page of [...pages, 'README.md']) {
      const text = readFileSync(join(root, page), 'utf8');
      const code = [...text.matchAll(/```[^]*?```|`[^`\n]+`/g)].map(([block]) => block).join('\n');
      for (const [, words = ''] of code.matchAll(
        /(?<![\w./-])kedge ((?:[a-z][\w|-]*)(?: [a-z][\w|-]*)?)/g,
      )) {
        const [first = '', second = ''] = words.split(' ');
        for (const name of first.split('|')) {
          seen += 1;
          const commands = kedgeProgram().commands;
          const command = commands.find((c) => c.name() === name || c.aliases().includes(name));
          if (!command) wrong.push(`${page}: kedge ${name}`);
          else if (command.commands.length > 0 && second !== '')
            for (const inner of second.split('|'))
              if (!command.commands.some((c) => c.name() === inner))
                wrong.push(`${page}: kedge ${name} ${inner}`);
        }
      }
    }
    expect(seen).to.be.greaterThan(100);
    expect(wrong).to.deep.equal([]);
  });
});
