import { expect } from 'chai';
import { systemClock } from '../../base/index.js';
import { type ApiObject, declareKind, string } from '../../object/index.js';
import { MemoryEngine, openStore } from '../../store/index.js';
import type { CallContext } from '../api/call.js';
import { describeKinds } from '../api/describe-kinds.js';
import type { ServedKind } from '../api/served-kind.js';
import { ResourceReads, type ResourceReadsOptions } from './resource-reads.js';

const fields = { text: string() };
const things = declareKind({ kind: 'Thing', plural: 'things', scope: 'Namespaced', fields });
const { schemas, packageName } = describeKinds('things.v1', [things]);

const watchers = 40;
const writes = 60;

describe('watches with field selectors', () => {
  for (const transport of ['grpc', 'rest'] as const)
    it(`convert each state of an object once for all of them: ${transport}`, async () => {
      await using store = await openStore({ engine: new MemoryEngine() });
      let converted = 0;
      const rules = {
        present: (object: ApiObject): ApiObject => {
          converted += 1;
          return object;
        },
      };
      const admission = { message: () => schemas.message(`${packageName}.Thing`) };
      const options = { store, admission, clock: systemClock };
      const reads = new ResourceReads(options as unknown as ResourceReadsOptions);
      const served = { kind: things, rules } as unknown as ServedKind;
      const stop = new AbortController();
      const context = { transport, signal: stop.signal, identity: {} } as unknown as CallContext;

      let live = 0;
      let allLive: () => void = () => undefined;
      const started = new Promise<void>((resolve) => (allLive = resolve));
      /** The events of a watcher until it has its own object. */
      const follow = async (at: number): Promise<readonly string[]> => {
        const seen: string[] = [];
        const request = { namespace: 'default', fieldSelector: `text=text-${at}` };
        for await (const answer of reads.watch(served, context, request)) {
          if (answer.resourceVersion !== '' && seen.length === 0) {
            seen.push('live');
            if ((live += 1) === watchers) allLive();
          }
          for (const { type, object } of answer.events as readonly Event[]) {
            seen.push(`${type} ${object.name}`);
            if (object.name === `own-${at}`) return seen;
          }
        }
        return seen;
      };
      const all = Array.from({ length: watchers }, (_, at) => follow(at));
      await started;

      const key = { namespace: 'default', name: 'shared' };
      let object = await store.create(things, { ...key, text: '' });
      for (let n = 0; n < writes; n += 1)
        object = await store.update(things, { ...object, text: `text-${n % watchers}` });
      for (let at = 0; at < watchers; at += 1) {
        const own = { namespace: 'default', name: `own-${at}`, text: `text-${at}` };
        await store.create(things, own);
      }
      const seen = await Promise.all(all);
      stop.abort();

      for (const [at, events] of seen.entries()) {
        const once = ['ADDED shared', 'DELETED shared'];
        const last = at === (writes - 1) % watchers ? once.slice(0, 1) : once;
        const again = at < writes - watchers ? [...once, ...last] : once;
        expect(events).to.deep.equal(['live', ...again, `ADDED own-${at}`]);
      }
      const states = 1 + writes + watchers;
      // Answers over gRPC contain stored objects, which are converted once more for each event.
      const events = 2 * writes + watchers;
      expect(converted).to.be.at.most(states + (transport === 'grpc' ? events : 0));
    });
});

interface Event {
  readonly type: string;
  readonly object: { readonly name: string };
}
