import { expect } from 'chai';
import { CommanderError } from 'commander';
import { kedgeProgram } from './program.js';

/** The output of a refused command line. */
async function printed(...words: readonly string[]): Promise<string> {
  const program = kedgeProgram();
  const lines: string[] = [];
  const silence = (command: typeof program): void => {
    command.configureOutput({ writeErr: (text) => lines.push(text) });
    command.commands.forEach(silence);
  };
  silence(program);
  const error = await program.parseAsync(words, { from: 'user' }).catch((e: unknown) => e);
  expect(error).to.be.instanceOf(CommanderError);
  return lines.join('');
}

describe('an invalid command line names the remedy', () => {
  const cases: readonly (readonly [words: string, text: string])[] = [
    ['volume resize data --size 2Gi', 'Usage: kedge volume resize [options] <name> <size>'],
    ['scale service/web', 'Usage: kedge scale [options] <words...>'],
    ['exec web-0 ls -l', 'Usage: kedge exec [options] <instance> -- <command...>'],
    ['resize data 2Gi', 'Did you mean kedge volume resize?'],
    ['resise data 2Gi', 'Did you mean kedge volume resize?'],
    ['volume delet data', 'Did you mean kedge context delete or kedge delete?'],
    ['volume create data', 'Did you mean kedge create or kedge snapshot create'],
    ['kast app.yaml', 'Did you mean kedge cast?'],
    ['volume frobnicate', 'kedge volume --help lists the commands'],
  ];
  for (const [words, text] of cases)
    it(`kedge ${words}`, async () => {
      const output = await printed(...words.split(' '));
      expect(output).to.match(/^error: /);
      expect(output).to.contain(text);
      expect(output.match(/Did you mean/g) ?? []).to.have.length.below(2);
    });
});
