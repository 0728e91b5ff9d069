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

function requireContext(name: string, { contexts }: Contexts): void {
  if (Object.hasOwn(contexts, name)) return;
  const known = Object.keys(contexts);
  const meant = nearest(name, known);
  const hint =
    meant !== undefined
      ? `did you mean ${meant}?`
      : known.length === 0
        ? 'no contexts are stored yet; kedge login stores one'
        : `contexts: ${known.join(', ')}`;
  throw new StatusError({
    code: 'NotFound',
    reason: 'NoSuchContext',
    message: `context ${JSON.stringify(name)} does not exist in ${contextFile()}; ${hint}`,
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
    if (process.env[variable]) note(`${variable} is set and overrides the context.`);
}

async function use(name: string): Promise<void> {
  requireContext(name, await readContexts());
  await useContext(name);
  print(`switched to context ${name}`);
}

async function remove(name: string): Promise<void> {
  const before = await readContexts();
  requireContext(name, before);
  await deleteContext(name);
  print(`context ${name} deleted; its token is valid until it expires or is revoked`);
  if (before.current === name)
    note('It was the current context: kedge context use NAME selects another.');
}

/** Adds `kedge context list|use|delete`. */
export function addContext(program: Command): void {
  const context = program
    .command('context')
    .description('select the server and the identity of commands');
  withExamples(
    context
      .command('list')
      .description('list the stored servers and identities; * marks the current context')
      .action(() => list()),
    ['kedge context list', 'All contexts; tokens are not shown'],
  );
  withExamples(
    context
      .command('use')
      .argument('<context>')
      .description('switch to another context')
      .action((name: string) => use(name)),
    ['kedge context use prod', 'All following commands use prod'],
  );
  withExamples(
    context
      .command('delete')
      .argument('<context>')
      .description('delete a context with its token')
      .action((name: string) => remove(name)),
    ['kedge context delete staging', 'The token itself stays valid: see kedge token revoke'],
  );
}
