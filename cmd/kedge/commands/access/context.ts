import type { Command } from 'commander';
import { contextFile } from '../../connection/context-file.js';
import { StatusError } from 'kedge/objects';
import { nearest } from '../../../near-miss.js';
import {
  type Contexts,
  deleteContext,
  readContexts,
  useContext,
} from '../../connection/context.js';
import { note, print, table } from '../../output/output.js';
import { withExamples } from '../../program/examples.js';

function demandContext(name: string, { contexts }: Contexts): void {
  if (Object.hasOwn(contexts, name)) return;
  const known = Object.keys(contexts);
  const meant = nearest(name, known);
  const hint =
    meant !== undefined
      ? `did you mean ${meant}?`
      : known.length === 0
        ? 'there is none yet; kedge login stores one'
        : `there are ${known.join(', ')}`;
  throw new StatusError({
    code: 'NotFound',
    reason: 'NoSuchContext',
    message: `no context is named ${JSON.stringify(name)} in ${contextFile()}; ${hint}`,
  });
}

async function list(): Promise<void> {
  const { contexts, current } = await readContexts();
  const names = Object.keys(contexts).sort();
  if (names.length === 0) {
    note(`No contexts are stored in ${contextFile()}; kedge login stores one.`);
    return;
  }
  const rows = names.map((name) => {
    const { server = '', caFile, tls } = contexts[name] ?? {};
    return [name === current ? '*' : '', name, server, caFile || tls ? 'yes' : 'no'];
  });
  print(table([['CURRENT', 'NAME', 'SERVER', 'TLS'], ...rows]));
  for (const variable of ['KEDGE_SERVER', 'KEDGE_TOKEN'])
    if (process.env[variable] !== undefined)
      note(`${variable} is set, and used instead of what the context has.`);
}

async function use(name: string): Promise<void> {
  demandContext(name, await readContexts());
  await useContext(name);
  print(`context ${name} is used from now on`);
}

async function remove(name: string): Promise<void> {
  const before = await readContexts();
  demandContext(name, before);
  await deleteContext(name);
  print(`context ${name} deleted; its token is good until it ends or is revoked`);
  if (before.current === name)
    note('It was the current one: kedge context use NAME chooses another.');
}

/** `kedge context list|use|delete` */
export function addContext(program: Command): void {
  const context = program
    .command('context')
    .description('choose the server and the identity that commands use');
  withExamples(
    context
      .command('list')
      .description('tell which servers and identities are stored; * is the one in use')
      .action(() => list()),
    ['kedge context list', 'All of them; tokens are not shown'],
  );
  withExamples(
    context
      .command('use')
      .argument('<context>')
      .description('use another one from now on')
      .action((name: string) => use(name)),
    ['kedge context use prod', 'All commands from now on are for prod'],
  );
  withExamples(
    context
      .command('delete')
      .argument('<context>')
      .description('forget one, with its token')
      .action((name: string) => remove(name)),
    ['kedge context delete staging', 'The token itself stays good: see kedge token revoke'],
  );
}
