import { expect } from 'chai';
import type { KindInit } from './kind.js';
import type { ApiObject } from './object.js';
import { declareKind } from './declare-kind.js';
import { defineKind, kindOf } from './define-kind.js';
import { enumeration, int32, string } from '../fields/fields.js';
import { stateMachine } from './state-machine.js';

interface Lamp extends ApiObject {
  readonly room?: string;
  readonly phase?: string;
  readonly lit?: boolean;
}
const phases = stateMachine('phase', 'Off', { Off: ['On'], On: ['Off'] });
const good = {
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster' as const,
  statusFields: ['phase', 'lit'] as const,
};

function refusal(init: unknown): string {
  const messages = [
    () => defineKind<Lamp>(init as KindInit<Lamp> & { scope: 'Cluster' }),
    () => kindOf<Lamp>()(init as KindInit<Lamp>),
  ].map((declare) => {
    try {
      declare();
    } catch (error) {
      expect(error).to.be.instanceOf(TypeError);
      return (error as Error).message;
    }
    return 'not refused';
  });
  expect(messages[0]).to.equal(messages[1]);
  return messages[0] ?? '';
}

describe('defining a kind', () => {
  const machine = (change: object): object => ({ ...phases, ...change });
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ kind: undefined }, /kind: undefined can't be used; give the singular in PascalCase/],
    [{ kind: '' }, /kind: "" can't be used/],
    [{ kind: 'lamp post' }, /kind: "lamp post"/],
    [{ plural: '' }, /^Lamp\.plural: "" can't be used; give the plural in lower case/],
    [{ plural: undefined }, /^Lamp\.plural: undefined/],
    [{ plural: 'a/b' }, /^Lamp\.plural: "a\/b"/],
    [{ plural: 'Lamps' }, /^Lamp\.plural: "Lamps"/],
    [{ scope: 'cluster' }, /^Lamp\.scope: "cluster" can't be used; give "Namespaced" or "Cluster"/],
    [{ scope: undefined }, /^Lamp\.scope: undefined/],
    [{ shortNames: ['l', 'l'] }, /^Lamp\.shortNames: "l" can't be used; it is listed twice/],
    [{ shortNames: ['lamps'] }, /^Lamp\.shortNames: "lamps" .* is the same as the plural/],
    [{ shortNames: 'l' }, /^Lamp\.shortNames: "l" can't be used; give a list/],
    [{ statusFields: undefined }, /^Lamp\.statusFields: undefined .* or \[\] for none/],
    [
      { statusFields: ['lit', 'lit'] },
      /^Lamp\.statusFields: "lit" can't be used; it is listed twice/,
    ],
    [
      { statusFields: ['metadata'] },
      /^Lamp\.statusFields: "metadata" .* every object has a metadata/,
    ],
    [{ statusFields: ['a.b'] }, /^Lamp\.statusFields: "a\.b"/],
    [{ statusFields: [7] }, /^Lamp\.statusFields: 7/],
    [{ immutableFields: ['room', 'room'] }, /^Lamp\.immutableFields: "room" .* listed twice/],
    [{ immutableFields: ['room..wall'] }, /^Lamp\.immutableFields: "room\.\.wall"/],
    [{ immutableFields: ['lit'] }, /^Lamp\.immutableFields: "lit" .* is a status field/],
    [{ initialStatus: { room: 'hall' } }, /^Lamp\.initialStatus: "room" .* is not a status field/],
    [{ initialStatus: [] }, /^Lamp\.initialStatus: \[\]/],
    [{ states: machine({ field: 'mode' }) }, /^Lamp\.states\.field: "mode" .* not a status field/],
    [{ states: machine({ initial: 'Dark' }) }, /^Lamp\.states\.initial: "Dark" .* one of Off, On/],
    [
      { states: machine({ transitions: { Off: ['Gone'] } }) },
      /^Lamp\.states\.transitions\.Off: "Gone"/,
    ],
    [{ states: machine({ removable: ['Gone'] }) }, /^Lamp\.states\.removable: "Gone" .* Off, On/],
    [{ states: machine({ removable: [] }) }, /^Lamp\.states\.removable: \[\] .*omit it/],
    [{ states: 'phase' }, /^Lamp\.states: "phase" can't be used; give what stateMachine returns/],
    [
      { states: phases, initialStatus: { phase: 'On' } },
      /^Lamp\.initialStatus\.phase: "On" .* "Off"/,
    ],
    [{ indexes: { room: 'room' } }, /^Lamp\.indexes\.room: "room" can't be used; give a function/],
    [{ columns: [{ header: '', value: () => '' }] }, /^Lamp\.columns\[0\]\.header: ""/],
    [{ columns: [{ header: 'ROOM' }] }, /^Lamp\.columns\[0\]\.value: undefined/],
    [{ takenWhenFull: 'yes' }, /^Lamp\.takenWhenFull: "yes"/],
  ];
  for (const [change, message] of wrong)
    it(`refuses an invalid ${Object.keys(change).join(' with ')} with the property, the value and the remedy: ${message.source}`, () => {
      expect(refusal({ ...good, ...change })).to.match(message);
    });

  it('refuses a value that is not a description of a kind', () => {
    for (const init of [undefined, null, 'Lamp', 7])
      expect(refusal(init)).to.match(/can't be used; give an object that describes it/);
    expect(refusal({})).to.match(/kind: undefined can't be used/);
  });

  it('accepts a valid one, whose objects start in the initial state', () => {
    const lamps = defineKind<Lamp>({
      ...good,
      shortNames: ['lp'],
      immutableFields: ['room', 'mount.wall'],
      initialStatus: { lit: false },
      states: phases,
      indexes: { room: (lamp) => [lamp.room ?? ''] },
      columns: [{ header: 'ROOM', value: (lamp) => lamp.room }],
    });
    expect(lamps.initialStatus).to.deep.equal({ phase: 'Off', lit: false });
  });
});

describe('declaring a kind', () => {
  const declared = (change: object): string => {
    try {
      declareKind({ ...good, statusFields: undefined, fields: {}, ...change } as never);
    } catch (error) {
      expect(error).to.be.instanceOf(TypeError);
      return (error as Error).message;
    }
    return 'not refused';
  };
  const status = { phase: enumeration(['Off', 'On']), count: int32(), text: string() };
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ kind: 'lamp' }, /kind: "lamp"/],
    [{ plural: '' }, /^Lamp\.plural: ""/],
    [{ scope: 'Global' }, /^Lamp\.scope: "Global"/],
    [{ fields: undefined }, /^Lamp\.fields: undefined/],
    [{ fields: { room: 'text' } }, /^Lamp\.fields\.room is not a field; create it with string\(\)/],
    [{ initialStatus: { mode: 1 } }, /^Lamp\.initialStatus: "mode"/],
    [{ states: phases }, /^Lamp\.states\.field: "phase"/],
    [
      { status, states: stateMachine('count', 'A', { A: [] }) },
      /states\.field: count is a field of type int32/,
    ],
    [
      { status, states: stateMachine('phase', 'Gone', { Gone: [] }) },
      /Gone is not a value of phase/,
    ],
  ];
  for (const [change, message] of wrong)
    it(`refuses an invalid ${Object.keys(change).join(' with ')}: ${message.source}`, () => {
      expect(declared(change)).to.match(message);
    });

  it('refuses a value that is not a description of a kind', () => {
    expect(() => declareKind({} as never)).to.throw(TypeError, /kind: undefined/);
    expect(() => declareKind(undefined as never)).to.throw(TypeError, /undefined can't be used/);
  });

  it('accepts states that are values of their field', () => {
    expect(declared({ status, states: phases })).to.equal('not refused');
    expect(declared({ status, states: stateMachine('text', 'A', { A: [] }) })).to.equal(
      'not refused',
    );
  });
});
