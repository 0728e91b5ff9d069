import { expect } from 'chai';
import type { FieldViolation } from '../../base/index.js';
import { declareKind, list, string } from '../../object/index.js';
import type { JsonObject } from '../../rpc/index.js';
import { describeKinds } from '../api/describe-kinds.js';
import { InputSchemas } from './input-schemas.js';
import { mount } from '../api/mounted-kinds.js';

const lamps = declareKind({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Namespaced',
  fields: { room: string({ maxLength: 9 }), tags: list(string({ maxLength: 3 })) },
});
const api = describeKinds('input.v1', [mount(lamps)]);
const inputs = new InputSchemas(api.schemas);
const violationsOf = (json: JsonObject): readonly FieldViolation[] => {
  const message = api.schemas.message(api.kinds[0]?.message ?? '');
  return inputs.violations(message, Object.assign(json, { name: 'a', namespace: 'home' }));
};

describe('violations of the shape of an object', () => {
  it('are reported for the first hundred fields, without quadratic time', () => {
    // Counts reads of the whole object: the getter runs each time a violation is formatted with the object as its value.
    let reads = 0;
    const fields = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`f${n}`, '']));
    const json = Object.defineProperty({ ...fields }, 'f4999', {
      enumerable: true,
      get: () => {
        reads += 1;
        return '';
      },
    });
    const found = violationsOf(json);
    expect(found).to.have.length(101);
    expect(found[0]?.field).to.equal('f0');
    expect(found[100]?.description).to.equal('and 4900 more that are not listed');
    expect(reads).to.be.below(10);
  });

  it('are reported without reading all fields for each', () => {
    const fields = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`f${n}`, '']));
    let enumerations = 0;
    const json = new Proxy<JsonObject>(fields, {
      ownKeys: (target) => {
        enumerations += 1;
        return Reflect.ownKeys(target);
      },
    });
    expect(violationsOf(json)).to.have.length(101);
    expect(enumerations).to.be.below(10);
  });

  it('have only the beginning of a value', () => {
    const room = 'x'.repeat(1_000_000);
    const [violation] = violationsOf({ room });
    expect(violation?.description).to.match(/^"x{76}\.\.\. /);
    const tags = Array<string>(100_000).fill('x');
    const [other] = violationsOf({ room: tags });
    expect(other?.description).to.match(/^\["x",.*\.\.\. must be of type string/);
  });
});
