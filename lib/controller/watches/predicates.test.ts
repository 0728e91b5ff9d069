import { expect } from 'chai';
import { type ApiObject, defineKind } from '../../object/index.js';
import {
  allOf,
  annotationsChanged,
  anyOf,
  fieldsChanged,
  generationChanged,
  labelsChanged,
  not,
  statusChanged,
} from '../index.js';

interface Lamp extends ApiObject {
  readonly room?: { readonly name: string };
  readonly lit?: boolean;
}
const lamps = defineKind<Lamp>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Namespaced',
  statusFields: ['lit'],
});

describe('predicates', () => {
  const base: Lamp = {
    name: 'a',
    labels: { x: '1' },
    room: { name: 'hall' },
    lit: false,
    metadata: { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' },
  };
  const next = (change: Partial<Lamp>, meta: Partial<Lamp['metadata']> = {}): Lamp => ({
    ...base,
    ...change,
    metadata: { ...base.metadata, ...meta },
  });

  it('detect only the changes in their names', () => {
    const generation = generationChanged<Lamp>();
    expect(generation(base, next({}, { generation: 2 }))).to.equal(true);
    expect(generation(base, next({}, { deletionRequestedAt: 'now' }))).to.equal(true);
    expect(generation(base, next({ lit: true }))).to.equal(false);
    expect(labelsChanged<Lamp>()(base, next({ labels: { x: '2' } }))).to.equal(true);
    expect(labelsChanged<Lamp>()(base, next({ labels: { x: '1' } }))).to.equal(false);
    expect(annotationsChanged<Lamp>()(base, next({}, { annotations: { y: '' } }))).to.equal(true);
    expect(fieldsChanged<Lamp>('room.name')(base, next({ room: { name: 'x' } }))).to.equal(true);
    expect(fieldsChanged<Lamp>('room.name')(base, next({ room: { name: 'hall' } }))).to.equal(
      false,
    );
    expect(statusChanged(lamps)(base, next({ lit: true }))).to.equal(true);
  });

  it('combine', () => {
    const yes = () => true;
    const no = () => false;
    expect(anyOf<Lamp>(no, yes)(base, base)).to.equal(true);
    expect(allOf<Lamp>(no, yes)(base, base)).to.equal(false);
    expect(not<Lamp>(no)(base, base)).to.equal(true);
  });
});
