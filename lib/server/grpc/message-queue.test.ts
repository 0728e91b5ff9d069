import { expect } from 'chai';
import { StatusError } from '../../base/index.js';
import { MessageQueue } from './message-queue.js';

describe('the messages of a client stream', () => {
  let empty: boolean[];
  let queue: MessageQueue;
  beforeEach(() => {
    empty = [];
    queue = new MessageQueue((isEmpty) => empty.push(isEmpty));
  });
  const all = async (): Promise<readonly string[]> => {
    const taken: string[] = [];
    for await (const message of queue.taken()) taken.push(message.toString());
    return taken;
  };
  const push = (...texts: readonly string[]): void => {
    for (const text of texts) queue.push(Buffer.from(text));
  };

  it('are taken in order, also those that come later, until the client ends', async () => {
    push('a', 'b');
    const taken = all();
    await Promise.resolve();
    push('c');
    await new Promise(setImmediate);
    push('');
    queue.end();
    expect(await taken).to.deep.equal(['a', 'b', 'c', '']);
    expect(empty).to.deep.equal([false, true, false, true]);
    queue.abandon();
    expect(await all()).to.deep.equal([]);
  });

  for (const waits of [true, false])
    it(`are incomplete if the client is gone while the handler ${waits ? 'waits' : 'is busy'}`, async () => {
      if (!waits) push('a');
      const iterator = queue.taken()[Symbol.asyncIterator]();
      const next = waits ? iterator.next() : undefined;
      queue.abandon();
      const reason = await (next ?? iterator.next()).then(
        () => 'a message',
        (error: unknown) => StatusError.from(error).code,
      );
      expect(reason).to.equal('Cancelled');
    });
});
