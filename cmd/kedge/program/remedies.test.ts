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
import { kedgeProgram } from './program.js';
import { aboutSample, samples } from './reason-samples.js';
import { reasonsPage } from './reasons-page.js';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
/** The patterns that remedies search in a message. */
const messages = [
  '',
  'volume default/data: it does not exist',
  'class "x" names none; storage class "fast" does not exist; create it',
  'secret default/login does not exist',
  'secret default/login has no key "password"',
  'driver nosuch is not registered',
  'hostPath /x does not exist; create it',
  'hostPath "/etc" is not under [storage].hostPathAllowlist',
  'mkfs.ext4 is not installed on this node; install it (package e2fsprogs on Debian and Ubuntu)',
  "can't be started: command x is not found in its PATH",
  "can't be started: command /x is not executable",
  "can't be started: user x can't be used: kedged on this node runs as an unprivileged user",
  "can't be started: user x does not exist on this node",
  "can't be started: capabilities x can't be granted",
  "can't be started: its working directory /x does not exist",
  'ended with exit code 1; not restarted because of restartPolicy Never',
  'volume default/data is ReadWriteOnce and in use by default/db-0',
  'snapshot "default/copy" is Failed: no',
  'snapshot "default/gone" does not exist; create it',
  'runtime container is not available on node n1; it has: process',
  'Volume "data" is being deleted',
  'storage root /srv has no file .kedge/cluster-id; if this is it: mkdir -p /srv/.kedge && echo x > /srv/.kedge/cluster-id',
  'storage root /srv is locked: data directory /srv/.kedge is in use by process 123; stop it first, or choose another directory',
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
  ...['docker unpause', 'kill'],
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
      const [program, verb = ''] = remedy.command.split(' ');
      expect(remedy.text, of).to.contain(remedy.command);
      if (program !== 'kedge')
        expect(
          programs.some((each) => remedy.command.startsWith(each)),
          `${of}\n${remedy.command}`,
        ).to.equal(true);
      expect(readOnly, `${of}\n${remedy.text}`).to.not.include(verb);
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
