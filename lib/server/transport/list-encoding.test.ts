import { expect } from 'chai';
import { declareKind, string } from '../../object/index.js';
import { methodTable } from '../../rpc/index.js';
import { FakeClock } from '../../testing/index.js';
import { describeKinds } from '../api/describe-kinds.js';
import { encodeList, listText, wholeItemsMax } from './list-encoding.js';

const notes = declareKind({
  kind: 'Note',
  plural: 'notes',
  scope: 'Namespaced',
  fields: { text: string() },
});

describe('encoding of lists', () => {
  const { schemas, packageName } = describeKinds('notes.v1', [notes]);
  const methods = methodTable(schemas, packageName, [notes]);
  const method = (verb: string) => methods.find((m) => m.standard?.verb === verb)!;
  const note = (n: number) => ({
    name: `n-${n}`,
    namespace: 'default',
    metadata: { uid: `u${n}`, resourceVersion: String(n) },
    text: 'ä'.repeat(n % 300),
  });

  it('a long list in parts equals the list, as protobuf and as JSON', async () => {
    const items = Array.from({ length: wholeItemsMax * 3 }, (_, n) => note(n));
    const answer = { items, resourceVersion: '7', nextPageToken: 'more' };
    const clock = new FakeClock();
    const { output } = method('List');
    const bytes = await encodeList(schemas, output, answer, items, clock);
    expect(schemas.decode(output, bytes)).to.deep.equal(
      schemas.decode(output, schemas.encode(output, answer)),
    );
    let text = '';
    for await (const part of listText(answer, items, clock)) text += part;
    expect(JSON.parse(text)).to.deep.equal(answer);
  });
});
