import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../../..', import.meta.url));

function sources(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !/\.test\.ts$|\/dist\/|node_modules|\/gen\//.test(path))
    .map((path) => readFileSync(path, 'utf8'));
}

const thrown = [
  /new StatusError\(\{[^}]*?\breason: '(\w+)'/g,
  /failedPrecondition\(\s*'(\w+)'/g,
  /dataLoss\(\s*'(\w+)'/g,
  /refused\(\s*'([A-Z]\w+)'/g,
  /\b4\d\d: '([A-Z]\w+)'/g,
];

describe('the page of error reasons', () => {
  it('has every reason that the server returns, and no other', () => {
    const folders = ['lib/server', 'lib/store', 'lib/base', 'lib/object', 'lib/rpc', 'controllers'];
    const given = new Set(
      [...folders, 'cmd/kedged']
        .flatMap(sources)
        .flatMap((text) => thrown.flatMap((form) => [...text.matchAll(form)].map((m) => m[1]))),
    );
    // Errors of the in-process library or of the start, which clients do not receive.
    const inProcess = [
      'Aborted',
      'AddressUnavailable',
      'AgentReplaced',
      'ConfigUnreadable',
      'LeadershipLost',
      'NotPrivate',
    ];
    const page = readFileSync(join(root, 'docs/reference/errors.md'), 'utf8');
    const documented = new Set([...page.matchAll(/^\| ([A-Z]\w+) +\|/gm)].map((m) => m[1]));
    documented.delete('Reason');
    const missing = [...given].filter((r) => !documented.has(r) && !inProcess.includes(String(r)));
    expect(missing, 'not on the page').to.deep.equal([]);
    const gone = [...documented].filter((r) => !given.has(r) && !inProcess.includes(String(r)));
    expect(gone, 'not returned by the server').to.deep.equal([]);
  });
});
