import type { Argument, Command, Option } from 'commander';

/** The source of the words that fit an argument or the value of an option. */
export type Source =
  | { readonly type: 'words'; readonly words: readonly string[] }
  | { readonly type: 'files' | 'contexts' | 'fields' | 'namespaces' | 'nothing' }
  /** `TYPE NAME...` or `TYPE/NAME...`; limited to some kinds if they are given. */
  | { readonly type: 'targets'; readonly kinds: readonly string[] }
  /** Names of objects of some kinds. */
  | { readonly type: 'names'; readonly kinds: readonly string[] };

/** The kinds that a text names: `volume/NAME` names volumes. */
function kindsIn(text: string): readonly string[] {
  return [...text.matchAll(/\b([a-z]+)\/NAME/g)].map(([, kind = '']) => kind);
}

function isFile(name: string): boolean {
  return /^(key=)?files?$/.test(name);
}

/**
 * The source for an argument by its declaration: its choices, `TYPE` or `volume/NAME` in its description, or
 * its name.
 */
function sourceOfArgument(argument: Argument): Source {
  const { argChoices, description } = argument;
  const name = argument.name();
  if (argChoices) return { type: 'words', words: argChoices };
  if (isFile(name)) return { type: 'files' };
  if (name === 'context') return { type: 'contexts' };
  if (name === 'field') return { type: 'fields' };
  const kinds = kindsIn(description);
  if (/\bTYPE\b/.test(description) || (name === 'words' && kinds.length > 0))
    return { type: 'targets', kinds };
  return kinds.length > 0 ? { type: 'names', kinds } : { type: 'nothing' };
}

const kindsByOption: Readonly<Record<string, readonly string[]>> = {
  '--class': ['storageclass'],
  '--volume': ['volume'],
  '--storage-class': ['storageclass'],
  '--policy': ['policy'],
  '--node': ['node'],
};

function sourceOfOption(option: Option): Source {
  const { long = '', flags, description } = option;
  if (option.argChoices) return { type: 'words', words: option.argChoices };
  if (long === '--namespace' || long === '--to-namespace') return { type: 'namespaces' };
  if (long === '--output') {
    const words = description.match(/\b(jsonpath=|table|wide|json|yaml|name)/g) ?? [];
    return { type: 'words', words: [...new Set(words)] };
  }
  if (/\b(file|files|directory)>|\bfile\.\.\.>|=file>/.test(flags)) return { type: 'files' };
  if (long === '--for') {
    if (/type\/name/.test(flags)) return { type: 'targets', kinds: [] };
    return { type: 'words', words: ['condition=', 'status=', 'delete'] };
  }
  const kinds = kindsByOption[long];
  return kinds ? { type: 'names', kinds } : { type: 'nothing' };
}

/** The incomplete command line: the command, the words before, and the word under the cursor. */
export interface Typed {
  readonly command: Command;
  readonly arguments: readonly string[];
  readonly current: string;
  /** The option whose value is incomplete. */
  readonly option?: Option;
}

function optionNamed(command: Command, word: string): Option | undefined {
  return command.options.find(({ long, short }) => word === long || word === short);
}

/** Parses the words after the name of the program, the last of them under the cursor. */
export function typed(root: Command, words: readonly string[]): Typed {
  let command = root;
  let option: Option | undefined;
  let plain = false;
  const found: string[] = [];
  for (const word of words.slice(0, -1)) {
    if (option) {
      option = undefined;
      continue;
    }
    if (!plain && word === '--') plain = true;
    else if (!plain && word.startsWith('-') && word.length > 1) {
      const named = word.includes('=') ? undefined : optionNamed(command, word);
      if (named?.required) option = named;
    } else {
      const inner =
        found.length === 0
          ? command.commands.find((c) => c.name() === word || c.aliases().includes(word))
          : undefined;
      if (inner) command = inner;
      else found.push(word);
    }
  }
  const last = words.at(-1) ?? '';
  const [flag = ''] = last.split('=');
  const inWord = !plain && last.startsWith('--') && last.includes('=');
  const own = inWord ? optionNamed(command, flag) : option;
  const current = inWord ? last.slice(flag.length + 1) : last;
  return { command, arguments: found, current, ...(own ? { option: own } : {}) };
}

/** The source for the word under the cursor, unless it is an option or a command. */
export function sourceOf({ command, arguments: words, option }: Typed): Source {
  if (option) return sourceOfOption(option);
  const declared = command.registeredArguments;
  const argument = declared[words.length] ?? declared.at(-1);
  if (!argument || (words.length >= declared.length && !argument.variadic))
    return { type: 'nothing' };
  return sourceOfArgument(argument);
}
