import { expect } from 'chai';
import { seededRandom } from 'kedge';
import { actions, type Case, generate, nameOf, phasesOf } from './cases.js';
import { relations, type Subject } from './references.js';
import { groups, run } from './run.js';

/** `all`, or the number of cases drawn per kind. */
const extent = process.env['KEDGE_NEVER_STUCK'] ?? '12';
const seed = Number(process.env['KEDGE_SEED'] ?? 1);
/** Runs the cases whose names it matches, instead of a sample. */
const only = process.env['KEDGE_NEVER_STUCK_CASE'];
/** Number of cases that share a world. */
const groupMax = 160;

const { cases, leftOut } = generate();
const kinds = [...new Set(relations.map(({ from }) => from))];

/** Draws this many cases of a kind, or all of them if there are fewer. */
function drawn(kind: Subject, count: number): readonly Case[] {
  const random = seededRandom(seed);
  const mine = cases.filter(({ from }) => from === kind);
  const order = new Map(mine.map((one) => [one, random.next()]));
  return mine.sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0)).slice(0, count);
}

function chosen(): readonly Case[] {
  if (only !== undefined) return cases.filter((one) => new RegExp(only).test(nameOf(one)));
  if (extent === 'all') return cases;
  return kinds.flatMap((kind) => drawn(kind, Number(extent)));
}

describe('every broken dependency in every phase', function () {
  // On a loaded machine all cases take more than an hour.
  this.timeout(0);
  const running = chosen();

  it('every phase of every kind has cases for each of its dependencies, or a reason for their absence', () => {
    const names = new Set(cases.map(nameOf));
    expect(names.size, 'names are unique').to.equal(cases.length);
    for (const { from, to } of relations)
      for (const phase of phasesOf(from)) {
        const there = cases.some((c) => c.from === from && c.phase === phase && c.broken.to === to);
        const excused = leftOut.some(({ which }) => which.startsWith(`${from} x ${to} `));
        expect(there || excused, `${from} ${phase}, ${to}`).to.equal(true);
      }
    for (const action of actions) expect(cases.some((one) => one.action === action)).to.equal(true);
    const left = leftOut.reduce((sum, { count }) => sum + count, 0);
    process.stdout.write(`      ${cases.length} cases, ${left} combinations left out:\n`);
    for (const { which, count, reason } of leftOut)
      process.stdout.write(`        ${which}, ${count}: ${reason}\n`);
  });

  it(`an object reaches its required state, or reports what it waits for and continues once that exists (${running.length} of ${cases.length} cases, seed ${seed})`, async () => {
    const problems: string[] = [];
    const refusals = new Set<string>();
    for (const group of groups(running, groupMax))
      for (const { name, problems: found, refusals: refused } of await run(group)) {
        problems.push(...found.map((problem) => `${name}: ${problem}`));
        for (const refusal of refused) refusals.add(refusal);
      }
    for (const refusal of refusals) expect(refusal, 'names a remedy').to.match(remedy);
    const replay = 'KEDGE_NEVER_STUCK_CASE=<name> runs one alone';
    expect(problems, replay).to.deep.equal([]);
  });
});

/** The required content of a refusal besides the problem. */
const remedy = /first|wait until|create it|only objects that its remaining objects need/;
