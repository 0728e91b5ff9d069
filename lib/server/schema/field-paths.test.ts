import { expect } from 'chai';
import { StatusError } from '../../base/index.js';
import { declareKind, json, list, map, object, string } from '../../object/index.js';
import { describeKinds } from '../api/describe-kinds.js';
import { requireKnownPaths } from './field-paths.js';
import { mount } from '../api/mounted-kinds.js';
import { type House, openHouse } from '../objects/object-service-house.test.js';

const racks = declareKind({
  kind: 'Rack',
  plural: 'racks',
  scope: 'Namespaced',
  fields: {
    room: string(),
    place: object({ row: string() }),
    slots: list(object({ owner: string() })),
    tags: map(string()),
    ports: map(object({ speed: string() })),
    notes: json(),
  },
});
const message = describeKinds('racks.v1', [mount(racks)]).schemas.message('racks.v1.Rack');

describe('paths of field selectors', () => {
  const problem = (path: string): string => {
    try {
      requireKnownPaths(racks, message, [path]);
      return '';
    } catch (error) {
      return StatusError.from(error).message;
    }
  };

  it('can be nested fields, items, entries, and any path in free JSON', () => {
    for (const path of [
      'name',
      'namespace',
      'labels.a',
      'metadata.generation',
      'metadata.annotations.x',
      'room',
      'place',
      'place.row',
      'slots',
      'slots.0',
      'slots.0.owner',
      'tags.a',
      'ports.http.speed',
      'notes.any.thing',
    ])
      expect(problem(path), path).to.equal('');
  });

  it('that do not exist are refused with the kind and the existing fields', () => {
    expect(problem('rom')).to.equal(
      'fieldSelector: "rom" is not a field of Rack; use one of labels, metadata, name, namespace, notes, place, ports, room, slots, tags',
    );
    expect(problem('place.col')).to.contain(
      '"place.col" is not a field of Rack; use one of place.row',
    );
    expect(problem('labels.svc.io/zone')).to.contain(
      "a key with a dot can't be selected; use a label selector",
    );
    expect(problem('tags.a.b')).to.contain(
      'a key with a dot can\'t be selected; read "tags" of the objects',
    );
    expect(problem('room.north')).to.contain('"room" has no fields; select by "room" itself');
    for (const path of ['slots.0.colour', 'ports.http.size', 'metadata.foo', 'toString', ''])
      expect(problem(path), path).to.not.equal('');
  });
});

describe('a field selector over the wire', () => {
  let house: House;
  before(async () => {
    house = await openHouse();
  });
  after(() => house[Symbol.asyncDispose]());

  it('with an unknown path is refused alike over REST, gRPC and by the object service', async () => {
    const ended = (call: Promise<unknown>): Promise<string> =>
      call.then(
        () => 'OK',
        (error: unknown) => StatusError.from(error).message,
      );
    const stop = new AbortController();
    const watched = async (generic: boolean, method: string, request: object): Promise<void> => {
      const stream = house.client('reader', generic).stream(method, { ...request }, stop.signal);
      for await (const _ of stream) return;
    };
    const own = { namespace: 'home', fieldSelector: 'colour!=red' };
    const generic = { kind: 'Lamp', ...own };
    const url = `http://127.0.0.1:${house.ports.rest}/v1/namespaces/home/lamps?fieldSelector=colour!%3Dred`;
    const headers = { authorization: 'Bearer reader' };
    const answer = await fetch(url, { headers });
    expect(answer.status).to.equal(400);
    const messages = [
      ((await answer.json()) as { readonly message: string }).message,
      await ended(house.client('reader', false).call('LampService.List', own)),
      await ended(house.client('reader', true).call('ObjectService.List', generic)),
      await ended(watched(true, 'ObjectService.Watch', generic)),
    ];
    expect(new Set(messages).size, messages.join('\n')).to.equal(1);
    expect(messages[0]).to.contain('"colour" is not a field of Lamp; use one of code, labels');
    stop.abort();
  });
});
