import type { Command } from 'commander';
import type { AnyKind } from 'kedge';
import type { ApiClient } from 'kedge/client';
import { type DescMessage, isJsonObject, textOf } from 'kedge/rpc';
import { apiSchemas } from '@kedge/api/schemas';
import { allKinds, namespaces } from '@kedge/controllers/kinds';
import { connect, kindNamed, methodFor } from '../connection/api.js';
import { readContexts } from '../connection/context.js';
import { scopeOf } from '../connection/targets.js';
import { type Source, sourceOf, type Typed, typed } from './completion-source.js';

/** A completion candidate with its description. */
export interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** Represents file names, which the shell completes. */
export const files = ':files';

/** Short timeout, because the user waits. */
const timeoutMs = 1_500;
const namesMax = 500;

async function namesOf(
  client: ApiClient,
  kind: AnyKind,
  namespace: string,
): Promise<readonly Candidate[]> {
  const request = { ...scopeOf(kind, namespace), limit: namesMax };
  const { items } = await client.call(methodFor(kind, 'List'), request, { timeoutMs, attempts: 1 });
  const objects = Array.isArray(items) ? items.filter(isJsonObject) : [];
  const word = kind.kind.toLowerCase();
  return objects.map((object) => ({
    word: textOf(object, 'name'),
    about: [word, textOf(object, 'status')].filter((text) => text !== '').join(' '),
  }));
}

/** Requests candidates from the server. Returns none after an error. */
async function fromServer(
  ask: (client: ApiClient) => Promise<readonly Candidate[]>,
): Promise<readonly Candidate[]> {
  try {
    const client = await connect();
    try {
      return await ask(client);
    } finally {
      client.close();
    }
  } catch {
    // Errors are not reported, because the command line is still incomplete.
    return [];
  }
}

async function namesOfKinds(
  words: readonly string[],
  namespace: string,
): Promise<readonly Candidate[]> {
  const kinds = words.map((word) => kindNamed(word));
  return fromServer(async (client) =>
    (await Promise.all(kinds.map((kind) => namesOf(client, kind, namespace)))).flat(),
  );
}

function typeWords(kinds: readonly string[]): readonly Candidate[] {
  const wanted = kinds.length > 0 ? kinds.map((word) => kindNamed(word)) : allKinds;
  return wanted.map(({ plural, kind }) => ({ word: plural, about: kind }));
}

async function targets(
  { command, arguments: words, current }: Typed,
  kinds: readonly string[],
  namespace: string,
): Promise<readonly Candidate[]> {
  const slash = current.indexOf('/');
  if (slash > 0) {
    const type = current.slice(0, slash);
    const names = await namesOfKinds([type], namespace);
    return names.map(({ word, about }) => ({ word: `${type}/${word}`, about }));
  }
  const [first] = words;
  const isType = first !== undefined && !first.includes('/');
  if (isType) return namesOfKinds([first], namespace);
  const all = command.name() === 'get' && first === undefined;
  return [
    ...typeWords(kinds),
    ...(all ? [{ word: 'all', about: 'all objects of a namespace except events' }] : []),
  ];
}

function fieldPaths(current: string): readonly Candidate[] {
  const [type = '', ...path] = current.split('.');
  if (path.length === 0)
    return allKinds.map(({ kind }) => ({ word: kind.toLowerCase(), about: kind }));
  let message: DescMessage | undefined = apiSchemas().message(`api.${kindNamed(type).kind}`);
  for (const name of path.slice(0, -1))
    message = message?.fields.find(({ jsonName }) => jsonName === name)?.message;
  const above = [type, ...path.slice(0, -1)].join('.');
  return (message?.fields ?? []).map(({ jsonName }) => ({
    word: `${above}.${jsonName}`,
    about: 'field',
  }));
}

async function fromSource(
  source: Source,
  line: Typed,
  namespace: string,
): Promise<readonly Candidate[]> {
  switch (source.type) {
    case 'words':
      return source.words.map((word) => ({ word, about: '' }));
    case 'files':
      return [{ word: files, about: '' }];
    case 'contexts': {
      const { contexts } = await readContexts();
      return Object.entries(contexts).map(([word, { server }]) => ({ word, about: server }));
    }
    case 'fields':
      return fieldPaths(line.current);
    case 'namespaces':
      return namesOfKinds([namespaces.plural], '');
    case 'targets':
      return targets(line, source.kinds, namespace);
    case 'names': {
      if (line.current.includes('/')) return targets(line, source.kinds, namespace);
      return namesOfKinds(source.kinds, namespace);
    }
    case 'nothing':
      return [];
  }
}

function namespaceIn(words: readonly string[]): string {
  const at = words.findIndex((word) => word === '-n' || word === '--namespace');
  const joined = words.find((word) => word.startsWith('--namespace='));
  return joined?.slice('--namespace='.length) ?? (at < 0 ? undefined : words[at + 1]) ?? 'default';
}

function flagsOf(command: Command): readonly Candidate[] {
  const own = command.options.map(({ long, short, description }) => ({
    word: long ?? short ?? '',
    about: description,
  }));
  return [...own, { word: '--help', about: 'a description of the command' }];
}

/** The words that fit after the name of the program; the last word is the one under the cursor. */
export async function candidates(
  root: Command,
  words: readonly string[],
): Promise<readonly Candidate[]> {
  const line = typed(root, words);
  const { command, current, option, arguments: found } = line;
  const last = words.at(-1) ?? '';
  let fitting: readonly Candidate[];
  if (!option && current.startsWith('-') && !words.slice(0, -1).includes('--'))
    fitting = flagsOf(command);
  else if (!option && command.commands.length > 0 && found.length === 0)
    fitting = command.commands
      .filter((inner) => !inner.name().startsWith('_'))
      .map((inner) => ({ word: inner.name(), about: inner.description() }));
  else
    try {
      fitting = await fromSource(sourceOf(line), line, namespaceIn(words));
    } catch {
      // A misspelt type has no names.
      fitting = [];
    }
  const inWord = last.slice(0, last.length - current.length);
  const given = new Set(found);
  return fitting
    .filter(({ word }) => word === files || (word.startsWith(current) && !given.has(word)))
    .map(({ word, about }) => ({ word: word === files ? word : `${inWord}${word}`, about }));
}
