import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { expect } from 'chai';
import {
  type ReasonEntry,
  reasonGroups,
  type Remedy,
  type Subject,
} from '@kedge/controllers/cause';
import * as controllerTexts from '@kedge/controllers/messages';
import * as driverTexts from '@kedge/driver-sdk/messages';
import type { MessageForm } from '@kedge/driver-sdk/messages';
import { kedgeProgram } from './program.js';
import { aboutSample, samples } from './reason-samples.js';
import { reasonsPage } from './reasons-page.js';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
/** Values of the parts of messages: names of the samples. */
const parts: Readonly<Record<string, string | readonly string[]>> = {
  capabilities: ['NET_RAW'],
  cluster: 'x',
  container: 'kedge-c-u-1',
  file: '/x',
  folder: '/srv/.kedge',
  free: '1',
  image: 'web:1',
  instance: 'default/web-0',
  key: 'password',
  kind: 'Volume',
  labels: ['svc.io/region=fra1'],
  least: '2147483648',
  mark: '/srv/.kedge/cluster-id',
  name: 'data',
  node: 'n1',
  nodes: ['n1'],
  object: 'default/login',
  packages: ['e2fsprogs', 'util-linux'],
  parameters: ['availabilityZone'],
  path: '/srv',
  pid: '123',
  resource: 'cpu',
  runtimes: ['process'],
  snapshot: 'default/copy',
  source: '/srv/a',
  storageClass: 'fast',
  subPath: 'a/b',
  target: '/srv/b',
  volume: 'default/data',
};

/** The forms that a module exports, also those in objects of it. */
function formsIn(exported: object): readonly MessageForm<string>[] {
  return Object.values(exported).flatMap((each: unknown) => {
    if (typeof each !== 'object' || each === null) return [];
    return 'readAll' in each ? [each as MessageForm<string>] : formsIn(each);
  });
}

/** The message of a form about the objects of the samples. */
function messageOf(form: MessageForm<string>): string {
  const names = [...form.text.matchAll(/\{(\w+)(\[\])?\}/g)].map(([, name = '']) => name);
  const given = Object.fromEntries(names.map((name) => [name, parts[name] ?? 'x']));
  return (form as { format(given: object): string }).format(given);
}

/** Every message that remedies read: all forms, and texts of other programs. */
const messages = [
  '',
  'volume default/data: it does not exist',
  'snapshot "default/gone" does not exist; create it',
  'ended with exit code 1',
  "can't be started: listen tcp4 0.0.0.0:80: bind: address already in use",
  "can't be started: write /x: no space left on device",
  ...[...formsIn(controllerTexts), ...formsIn(driverTexts)].flatMap((form) => [
    messageOf(form),
    `can't be started: ${messageOf(form)}`,
    `volume default/data: ${messageOf(form)}; retried automatically`,
  ]),
];
const kinds = Object.keys(samples) as readonly Subject['kind'][];
const entries = Object.values(reasonGroups).flatMap(
  (group: Readonly<Record<string, ReasonEntry>>) => Object.entries(group),
);

/** Commands that change nothing: alone they are not a remedy. */
const readOnly = [
  'describe',
  'why',
  'logs',
  'get',
  'events',
  'explain',
  'status',
  'health',
  'diff',
];

/** Other commands that a reader may be asked to run on the node. */
const programs = [
  ...['apt-get install', 'systemctl', 'mkdir -p', 'chmod', 'kedged --', "printf '%s"],
  ...['docker unpause', 'docker rm', 'docker network rm', 'kill', 'sudo kill', 'mount -o remount'],
];

function remedies(): readonly { readonly of: string; readonly remedy: Remedy }[] {
  const found = entries.flatMap(([reason, entry]) =>
    entry.type === 'settled'
      ? []
      : kinds.flatMap((kind) =>
          messages.map((message) => ({
            of: `${reason} of a ${kind}: ${message}`,
            remedy: entry.remedy(aboutSample(kind, message)),
          })),
        ),
  );
  // Many commands are equal: one of each is enough.
  return [...new Map(found.map((each) => [each.remedy.text, each])).values()];
}

function leafOf(program: Command, words: readonly string[]): Command | undefined {
  const [first, ...rest] = words;
  const found = program.commands.find(
    (c) => c.name() === first || c.aliases().includes(first ?? ''),
  );
  return found && found.commands.length > 0 ? leafOf(found, rest) : found;
}

describe('every remedy', () => {
  const all = remedies();

  it('names a command that changes something, or a field and its value', () => {
    for (const { of, remedy } of all) {
      const [program, verb = '', second = ''] = remedy.command.split(' ');
      expect(remedy.text, of).to.contain(remedy.command);
      if (program !== 'kedge')
        expect(
          programs.some((each) => remedy.command.startsWith(each)),
          `${of}\n${remedy.command}`,
        ).to.equal(true);
      expect(readOnly, `${of}\n${remedy.text}`).to.not.include(verb).and.not.include(second);
      if (remedy.type === 'set') expect(remedy.value, of).to.not.equal('');
      if (remedy.type === 'wait') {
        expect(remedy.waitsFor, of).to.not.equal('');
        expect(remedy.until, of).to.not.equal('');
      }
    }
  });

  it('names an object, and no placeholder except VALUE and KEY', () => {
    for (const { of, remedy } of all) {
      if (remedy.command.startsWith('kedge '))
        expect(remedy.command, of).to.match(/web|data|copy|n1|default|fast|login/);
      expect(remedy.text, of).to.not.match(/undefined|\[object|<[a-z]+>|\bNAME\b/);
      // A name or a value that was not found leaves a gap.
      expect(remedy.text, of).to.not.match(
        /\/(?= |$)|(?<!-|\/) \/ | [,;)]| :(?!\d)|""|''|  |\b(at most|at|is) ?[):,]/,
      );
      expect(remedy.text, of).to.not.match(/the (message|log) (says|shows|names|has)|\bsee\b/);
    }
  });

  it('is a valid command line if it starts with kedge', () => {
    const program = kedgeProgram();
    for (const { of, remedy } of all) {
      const [, line = ''] = /^kedge (.*)$/.exec(remedy.command) ?? [];
      if (line === '') continue;
      const leaf = leafOf(program, line.split(' '));
      expect(leaf, `${of}\n${remedy.command}`).to.not.equal(undefined);
      const options = [...line.matchAll(/ (--[a-z-]+|-[a-z])(?= |$)/g)].map(([, name]) => name);
      for (const option of options)
        expect(
          leaf?.options.some((o) => [o.long, o.short].includes(option)),
          `${of}\n${option}`,
        ).to.equal(true);
    }
  });

  it('is on the page of reasons, which is up to date', () => {
    const page = readFileSync(join(root, 'docs/reference/reasons.md'), 'utf8');
    expect(page === reasonsPage(), 'run node scripts/reasons-page.mjs').to.equal(true);
  });
});
