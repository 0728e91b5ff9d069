import { settle } from 'kedge/testing';
import { type Case, nameOf } from './cases.js';
import {
  breakDependency,
  comeBack,
  heal,
  prepare,
  prepareMore,
  retrySnapshot,
} from './dependencies.js';
import { afterHealing, type Deed, leaks, subjectPath, messagesOf, whileBroken } from './judge.js';
import { recastService, recipeOf } from './phases.js';
import { Scene } from './scene.js';
import { afterRemedy, isHomeGone, withoutHome } from './without-home.js';
import { World } from './world.js';

const minute = 60_000;
/** Maximum reads of one object per minute, by all controllers and agents, while everything waits. */
const looksMax = 90;

/** The result of a case. */
export interface Outcome {
  readonly name: string;
  /** Empty if the case ended as required. */
  readonly problems: readonly string[];
  /** The refusal of a rule, if the combination can't happen. */
  readonly refusals: readonly string[];
}

interface Run {
  readonly scene: Scene;
  readonly problems: string[];
  readonly refusals: string[];
  leaves: boolean;
}

/**
 * A returning node returns for all cases of its group. A node with data may be missing from the beginning;
 * other nodes lack a label instead.
 */
function groupOfNode({ broken: { to, breakage }, action }: Case): string {
  if (to !== 'Node' && to !== 'home') return '';
  const back = action === 'return' ? ' return' : '';
  const isEarly = breakage === 'missing' || breakage === 'late';
  return `${to === 'home' && isEarly ? 'home' : 'node'} ${breakage}${back}`;
}

/** Splits cases into groups that share a world. A breakage of the whole world is the same for all cases of a group. */
export function groups(cases: readonly Case[], sizeMax: number): readonly (readonly Case[])[] {
  const byKind = new Map<string, Case[]>();
  for (const one of cases) {
    const { from, phase, broken, action } = one;
    const shared = [
      action === 'restart' ? 'restart' : '',
      groupOfNode(one),
      broken.breakage === 'unavailable' ? `unavailable` : '',
      phase === 'Unknown' ? 'unknown' : '',
      from === 'Node' ? `${phase} ${action}` : '',
    ].join(',');
    const group = byKind.get(shared) ?? [];
    group.push(one);
    byKind.set(shared, group);
  }
  return [...byKind.values()].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / sizeMax) }, (_, n) =>
      group.slice(n * sizeMax, (n + 1) * sizeMax),
    ),
  );
}

async function act({ scene, refusals }: Run): Promise<boolean> {
  const { world, one } = scene;
  const path = subjectPath(scene);
  const answered = ({ status, body }: Awaited<ReturnType<World['rest']>>): boolean => {
    if (status !== 200 && status !== 404) refusals.push(String(body['message']));
    return status === 200;
  };
  switch (one.action) {
    case 'delete':
      return answered(
        await world.rest('DELETE', one.from === 'Namespace' ? `${path}?cascade=true` : path),
      );
    case 'recast':
      switch (one.from) {
        case 'Instance':
          answered(await world.rest('POST', `${path}:restart`, {}));
          break;
        case 'Service':
          await recastService(scene, 'again')();
          break;
        case 'Volume':
          answered(await scene.change(path, (volume) => ({ ...volume, size: '2Gi' })));
          break;
        default:
          answered(
            await scene.change(path, (object) => ({ ...object, labels: { cast: 'again' } })),
          );
      }
      return false;
    case 'return':
      await heal(scene);
      return false;
    case 'restart':
      return false;
  }
}

/** Runs cases concurrently in one world, step by step. */
export async function run(cases: readonly Case[]): Promise<readonly Outcome[]> {
  const world = await World.start();
  try {
    const runs = cases.map(
      (one, number): Run => ({
        scene: new Scene(world, one, number),
        problems: [],
        refusals: [],
        leaves: false,
      }),
    );
    await bring(world, runs);
    await trouble(world, runs);
    await doWithout(world, runs);
    await mend(world, runs);
    return runs.map(({ scene, problems, refusals }) => ({
      name: nameOf(scene.one),
      problems,
      refusals,
    }));
  } finally {
    await world.stop();
  }
}

async function each(runs: readonly Run[], step: (run: Run) => Promise<unknown>): Promise<void> {
  for (const one of runs) await step(one);
}

async function bring(world: World, runs: readonly Run[]): Promise<void> {
  await each(runs, ({ scene }) => prepare(scene));
  await world.advance(minute / 2);
  await each(runs, ({ scene }) => prepareMore(scene));
  await world.advance(minute / 2);
  const recipes = new Map(runs.map((one) => [one, recipeOf(one.scene)]));
  const turns = Math.max(...[...recipes.values()].map(({ steps }) => steps.length));
  for (let turn = 0; turn < turns; turn += 1) {
    await each(runs, async (one) => recipes.get(one)?.steps[turn]?.());
    await world.advance(minute);
  }
  await each(runs, async ({ scene, problems }) => {
    const object = await world.get(subjectPath(scene));
    const status = String(object?.['status']);
    if (status !== scene.one.phase)
      problems.push(`it did not reach the phase, it is ${status}: ${messagesOf(object)}`);
  });
}

async function trouble(world: World, runs: readonly Run[]): Promise<void> {
  await each(runs, async (one) => {
    const refusal = await breakDependency(one.scene);
    if (refusal !== undefined) one.refusals.push(refusal);
    one.leaves = recipeOf(one.scene).leaving ?? false;
    if (one.scene.one.broken.to === 'Namespace' && refusal === undefined) one.leaves = true;
  });
  await world.advance(2 * minute);
  await each(runs, ({ scene }) => comeBack(scene));
  await world.advance(minute);
  await each(runs, async (one) => {
    if (await act(one)) one.leaves = true;
  });
  if (runs[0]?.scene.one.action === 'restart') await world.restart();
  await settle();
  await world.advance(5 * minute);
  const before = new Map(world.looks);
  await world.advance(minute);
  for (const [id, count] of world.looks) {
    const made = count - (before.get(id) ?? 0);
    if (made <= looksMax) continue;
    const whose = runs.find(({ scene }) => id.includes(` ${scene.namespace}/`)) ?? runs[0];
    whose?.problems.push(`${id} is read ${made} times a minute while it waits`);
  }
  await each(runs, async (one) => {
    const problem = await whileBroken(one.scene, deedOf(one));
    if (problem !== undefined) one.problems.push(`while broken: ${problem}`);
  });
}

function deedOf({ leaves, refusals }: Run): Deed {
  return { leaves, refusals };
}

/** The node with the data does not return: nothing may wait only for it. */
async function doWithout(world: World, runs: readonly Run[]): Promise<void> {
  const concerned = runs.filter(({ scene }) => isHomeGone(scene));
  if (concerned.length === 0) return;
  await each(concerned, ({ scene }) => recipeOf(scene).release());
  await world.advance(20 * minute);
  for (const check of [withoutHome, afterRemedy]) {
    await each(concerned, async (one) => {
      const problem = await check(one.scene, deedOf(one));
      if (problem !== undefined) one.problems.push(`without its node: ${problem}`);
    });
    await world.advance(minute);
  }
}

async function mend(world: World, runs: readonly Run[]): Promise<void> {
  await each(runs, async ({ scene }) => {
    await heal(scene);
    await recipeOf(scene).release();
    if (scene.one.from === 'Snapshot') await retrySnapshot(scene);
  });
  await world.advance(5 * minute);
  // Objects that were refused during the deletion are cast again.
  await each(runs, ({ scene }) => heal(scene));
  await world.advance(20 * minute);
  await each(runs, async (one) => {
    const { scene, problems } = one;
    const stuck = await afterHealing(scene, deedOf(one));
    if (stuck !== undefined) problems.push(`after healing: ${stuck}`);
    const leaked = await leaks(scene);
    if (leaked !== undefined) problems.push(leaked);
    const harmed = world.provider.wrongs.filter((wrong) => wrong.startsWith(`${scene.namespace}/`));
    problems.push(...harmed);
  });
}
