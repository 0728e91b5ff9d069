import { expect } from 'chai';
import { type ApiObject, defineKind } from '../../object/index.js';
import type { JsonObject } from '../../rpc/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../../store/index.js';
import { encodedOnce } from '../api/shared-answer.js';
import { watchResource, type WatchRequest } from './resource-watch.js';
import { SharedAnswers } from './shared-answers.js';

const lamps = defineKind<ApiObject>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});
const objects = 40;
const text = (answer: JsonObject): Buffer => Buffer.from(JSON.stringify(answer));

describe('answers to watches of one kind', () => {
  let store: ObjectStore;
  let stop: AbortController;
  let converted: number;

  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    stop = new AbortController();
    converted = 0;
  });
  afterEach(async () => {
    stop.abort();
    await store.close();
  });

  /** The answers of a watch until it has all objects. */
  async function answersOf(request: Partial<WatchRequest>): Promise<readonly JsonObject[]> {
    const answers: JsonObject[] = [];
    let events = 0;
    for await (const answer of watchResource(store, lamps, {
      namespace: undefined,
      resourceVersion: '0',
      selector: undefined,
      signal: stop.signal,
      convert: ({ type, object: { name, labels } }) => {
        converted += 1;
        return { type, object: { name, labels } };
      },
      ...request,
    })) {
      answers.push(answer);
      events += (answer.events as readonly unknown[]).length;
      if (events >= objects) return answers;
    }
    return answers;
  }

  async function make(): Promise<void> {
    const labels = { text: 'x'.repeat(3_000) };
    for (let n = 0; n < objects; n += 1) await store.create(lamps, { name: `lamp-${n}`, labels });
  }

  it('are made and encoded once for all callers who see all objects', async () => {
    const shared = new SharedAnswers();
    await make();
    const [one, other] = [await answersOf({ shared }), await answersOf({ shared })];
    expect(one.length).to.be.greaterThan(1);
    expect(converted).to.equal(objects);
    for (const [at, answer] of one.entries()) {
      expect(other[at]).to.equal(answer);
      const bytes = encodedOnce(answer, 'text', () => text(answer));
      expect(encodedOnce(answer, 'text', () => Buffer.from('again'))).to.equal(bytes);
      expect(encodedOnce(answer, 'other', () => Buffer.from('other')).toString()).to.equal('other');
    }
  });

  it('have the bytes of those that are made for one caller', async () => {
    await make();
    const alone = await answersOf({});
    const shared = await answersOf({ shared: new SharedAnswers() });
    const bytesOf = (answers: readonly JsonObject[]): readonly string[] =>
      answers.map((answer) => encodedOnce(answer, 'text', () => text(answer)).toString());
    expect(bytesOf(shared)).to.deep.equal(bytesOf(alone));
  });

  it('of a caller who sees some objects are that caller’s alone', async () => {
    const shared = new SharedAnswers();
    await make();
    const all = await answersOf({ shared });
    const visible = ({ name }: ApiObject): boolean => name === 'lamp-3';
    const seen: JsonObject[] = [];
    for await (const answer of watchResource(store, lamps, {
      namespace: undefined,
      resourceVersion: '0',
      selector: undefined,
      visible,
      signal: stop.signal,
      convert: ({ object: { name } }) => ({ name }),
      shared,
    })) {
      seen.push(...(answer.events as readonly JsonObject[]));
      break;
    }
    expect(seen).to.deep.equal([{ name: 'lamp-3' }]);
    expect(await answersOf({ shared })).to.deep.equal(all);
  });

  it('are made when a watcher requests them, and a failure ends every watch that reaches it', async () => {
    const shared = new SharedAnswers();
    await make();
    let failing = true;
    const convert: WatchRequest['convert'] = ({ object: { name } }) => {
      converted += 1;
      if (failing && name === 'lamp-20') throw new Error('no form');
      return { name };
    };
    const request = { namespace: undefined, resourceVersion: '0', selector: undefined, convert };
    const watch = () => watchResource(store, lamps, { ...request, signal: stop.signal, shared });
    for await (const { events } of watch()) {
      expect(converted).to.equal((events as readonly unknown[]).length);
      break;
    }
    for (let n = 0; n < 2; n += 1) {
      let seen = 0;
      const read = async (): Promise<void> => {
        for await (const { events } of watch()) seen += (events as readonly unknown[]).length;
      };
      expect(await read().catch(String)).to.equal('Error: no form');
      expect(seen).to.be.at.most(20);
      failing = false;
    }
  });
});
