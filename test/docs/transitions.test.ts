import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { snapshotTransitions, transitions } from '@kedge/controllers';

const guide = fileURLToPath(new URL('../../../docs/guides/storage.md', import.meta.url));

/** Rows of a table in the guide as trimmed cells. */
function rows(title: string): readonly string[] {
  const text = readFileSync(guide, 'utf8');
  const section = text.slice(text.indexOf(`## ${title}`)).split('\n## ')[0] ?? '';
  return section
    .split('\n')
    .filter((line) => /^\| [VS]\d/.test(line))
    .map((line) =>
      line
        .split('|')
        .map((cell) => cell.trim())
        .join('|'),
    );
}

describe('the guide to storage', () => {
  for (const [title, table] of [
    ['All transitions of a volume', transitions],
    ['All transitions of a snapshot', snapshotTransitions],
  ] as const)
    it(`${title}: those of the controller`, () => {
      const expected = table.map(
        ({ id, from, event, to, then }) => `|${[id, from, event, to, then].join('|')}|`,
      );
      expect(rows(title)).to.deep.equal(expected);
    });

  it('names a remedy for every status of a volume', () => {
    const text = readFileSync(guide, 'utf8');
    const phases = new Set(transitions.flatMap((t) => [t.from, t.to]).filter((p) => p !== 'None'));
    for (const phase of phases) expect(text, phase).to.match(new RegExp(`^\\| ${phase} +\\|`, 'm'));
  });
});
