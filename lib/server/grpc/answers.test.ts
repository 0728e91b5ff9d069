import { expect } from 'chai';
import { declareKind, string } from '../../object/index.js';
import { methodTable } from '../../rpc/index.js';
import { AnswerEncoder } from './answers.js';
import { describeKinds } from '../api/describe-kinds.js';

const notes = declareKind({
  kind: 'Note',
  plural: 'notes',
  scope: 'Namespaced',
  fields: { text: string() },
});

describe('encoding of answers', () => {
  const { schemas, packageName } = describeKinds('notes.v1', [notes]);
  const methods = methodTable(schemas, packageName, [notes]);
  const method = (verb: string) => methods.find((m) => m.standard?.verb === verb)!;
  const note = (n: number) => ({
    name: `n-${n}`,
    namespace: 'default',
    metadata: { uid: `u${n}`, resourceVersion: String(n) },
    text: 'ä'.repeat(n % 300),
  });

  it('watch answers match the schema', () => {
    const encoder = new AnswerEncoder(schemas);
    const watch = method('Watch');
    const events = [
      { type: 'ADDED', object: note(1) },
      { type: 'DELETED', object: note(299) },
      { type: 'MODIFIED', object: { ...note(2), text: 'x'.repeat(40_000) } },
    ];
    for (const answer of [
      { events, resourceVersion: '9' },
      { events: [], resourceVersion: '10' },
      { events: events.slice(1), resourceVersion: '' },
    ])
      for (let round = 0; round < 2; round += 1)
        expect(schemas.decode(watch.output, encoder.encode(watch, answer))).to.deep.equal(
          schemas.decode(watch.output, schemas.encode(watch.output, answer)),
        );
  });
});
