import { expect } from 'chai';
import type { ApiObject, Kind } from 'kedge';
import { settle } from 'kedge/testing';
import type { TransitionRow } from '../states/transition-table.js';
import { StorageWorld } from './storage-world.js';

/** The unique name of a row: number, phase and event. */
export type RowName<R extends TransitionRow> = R extends unknown
  ? `${R['id']} ${R['from']} ${R['event']}`
  : never;

/** Causes the event of a row. If the phase does not change, asserts the effect. */
export type RowStory = (world: StorageWorld) => Promise<void>;

type Phased = ApiObject & { readonly status?: string };
type Step = readonly [from: string, to: string];

/** Every transition of a kind's objects in the store, in order. */
async function stepsOf(world: StorageWorld, kind: Kind<Phased>): Promise<readonly Step[]> {
  const { store } = world;
  const steps: Step[] = [];
  const phases = new Map<string, string>();
  const stop = new AbortController();
  const last = store.revision;
  for await (const { events, revision } of store.watch(kind, {
    fromRevision: 0,
    signal: stop.signal,
  })) {
    for (const { type, object } of events) {
      const { uid } = object.metadata;
      const from = phases.get(uid) ?? 'None';
      const to = type === 'DELETED' ? 'None' : (object.status ?? 'None');
      phases.set(uid, to);
      steps.push([from, to]);
    }
    if (revision >= last) stop.abort();
  }
  return steps;
}

/**
 * One test for each row of a table, in a separate world. Either the store records the transition of the row, or the
 * object is in the phase at the end, if the phase does not change. A missing story does not compile.
 */
export function testRows<const R extends TransitionRow>(
  kind: Kind<Phased>,
  rows: readonly R[],
  stories: Readonly<Record<RowName<R>, RowStory>>,
): void {
  const named: Readonly<Record<string, RowStory>> = stories;
  for (const { id, from, event, to, then } of rows)
    it(`${id} ${from} ${event}: ${to === from ? 'stays' : `to ${to}`}; ${then}`, async () => {
      const world = await StorageWorld.start();
      try {
        await named[`${id} ${from} ${event}`]?.(world);
        await settle();
        const steps = await stepsOf(world, kind);
        if (to === from) expect(steps.at(-1)?.[1], 'the phase at the end').to.equal(from);
        else expect(steps.map(String)).to.include(String([from, to]));
      } finally {
        await world.stop();
      }
    });
}
