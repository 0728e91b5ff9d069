import { expect } from 'chai';
import { declareKind, parseCursor, string } from '../../object/index.js';
import { methodTable } from '../../rpc/index.js';
import { MemoryEngine, openStore } from '../../store/index.js';
import { eventually } from '../../testing/index.js';
import { describeKinds } from '../api/describe-kinds.js';
import { watchResource } from '../objects/resource-watch.js';
import { SharedAnswers } from '../objects/shared-answers.js';
import { WaitingBytes } from '../transport/paced-writes.js';
import { AnswerEncoder } from './answers.js';
import { sendStream } from './stream.js';

const notes = declareKind({
  kind: 'Note',
  plural: 'notes',
  scope: 'Cluster',
  fields: { text: string() },
});
const { schemas, packageName } = describeKinds('notes.v1', [notes]);
const watchMethod = methodTable(schemas, packageName, [notes]).find(
  ({ standard }) => standard?.verb === 'Watch',
)!;

/** A call whose client reads only when a test requests it. */
class Socket {
  reads = true;
  readonly names: string[] = [];
  readonly messages: Buffer[] = [];
  readonly #unread: (() => void)[] = [];
  waitingBytes = 0;

  readonly write = (message: Buffer, written: () => void): void => {
    this.messages.push(message);
    this.waitingBytes += message.length;
    const read = (): void => {
      this.waitingBytes -= message.length;
      const { events = [] } = schemas.decode(watchMethod.output, message);
      for (const { object } of events as readonly { object: { name: string } }[])
        this.names.push(object.name);
      written();
    };
    if (this.reads) setImmediate(read);
    else this.#unread.push(read);
  };

  readonly end = (): void => undefined;

  readOn(): void {
    this.reads = true;
    for (const read of this.#unread.splice(0)) read();
  }
}

describe('a watcher that does not read', () => {
  it('delays no other, keeps little in memory, and misses nothing later', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const stop = new AbortController();
    const waiting = new WaitingBytes();
    const shared = new SharedAnswers();
    const encoder = new AnswerEncoder(schemas);
    const sockets = Array.from({ length: 40 }, () => new Socket());
    const [slow, ...others] = sockets as [Socket, ...Socket[]];
    slow.reads = false;
    const streams = sockets.map((socket) => {
      const answers = watchResource(store, notes, {
        namespace: undefined,
        resourceVersion: '',
        selector: undefined,
        signal: stop.signal,
        convert: ({ type, object }) => ({ type, object: object }),
        shared,
      });
      const cut = (): void => expect.fail('the slow watcher was cut');
      return sendStream({
        ...{ method: watchMethod, answers, encoder, waiting, cut, signal: stop.signal },
        call: socket,
      });
    });
    const names = Array.from({ length: 400 }, (_, n) => `note-${n}`);
    for (const name of names) await store.create(notes, { name, text: 'x'.repeat(2_000) });
    await eventually('all events at the others', () =>
      expect(others.every(({ names: { length } }) => length === names.length)).to.equal(true),
    );
    expect(slow.names).to.deep.equal([]);
    expect(slow.waitingBytes).to.be.lessThan(65_536 + 40_000);
    for (const { names: seen } of others) expect(seen).to.deep.equal(names);
    slow.readOn();
    await eventually('all events at the slow one', () => expect(slow.names).to.have.lengthOf(400));
    expect(slow.names).to.deep.equal(names);
    // The first message of each ends its initial state, and is not shared.
    const sent = others.map(({ messages }) => messages.slice(1));
    expect(new Set(sent.flat()).size, 'messages are shared').to.be.lessThan(2 * sent[0]!.length);
    const last = schemas.decode(watchMethod.output, others[0]?.messages.at(-1) ?? Buffer.alloc(0));
    expect(parseCursor(String(last.resourceVersion)).revision).to.equal(store.revision);
    stop.abort();
    await Promise.all(streams);
  });
});
