import { expect } from 'chai';
import { declareKind, enumeration, int32, list, object, string } from 'kedge';
import { describeKinds } from 'kedge/server';

describe('protobuf messages of a declaration', () => {
  const numbers = (fields: Parameters<typeof object>[0]): Readonly<Record<string, number>> => {
    const kind = declareKind({ kind: 'X', plural: 'xs', scope: 'Cluster', fields });
    const message = describeKinds('x.v1', [kind]).schemas.message('x.v1.X');
    return Object.fromEntries(message.fields.map((field) => [field.jsonName, field.number]));
  };

  it('a field that is added in the middle changes no other number', () => {
    const mode = enumeration(['On', 'Off']);
    const before = numbers({ first: string(), last: string(), mode });
    const after = numbers({ first: string(), middle: list(int32()), mode, last: string() });
    expect(after).to.deep.include(before);
    const values = (given: readonly string[]): unknown => {
      const kind = declareKind({
        kind: 'X',
        plural: 'xs',
        scope: 'Cluster',
        fields: { mode: enumeration(given) },
      });
      const field = describeKinds('x.v1', [kind]).schemas.message('x.v1.X').fields.at(-1);
      return Object.fromEntries(
        (field?.enum?.values ?? []).map(({ name, number }) => [name, number]),
      );
    };
    expect(values(['On', 'Dim', 'Off'])).to.deep.include(values(['On', 'Off']));
  });

  it('kinds of one name, kinds of one plural and nested types of one name are refused with that name', () => {
    const kind = (name: string, plural: string, fields = {}) =>
      declareKind({ kind: name, plural, scope: 'Cluster', fields });
    const refusal = (...kinds: Parameters<typeof describeKinds>[1]): string => {
      try {
        describeKinds('x.v1', kinds);
        return '';
      } catch (error) {
        return String(error);
      }
    };
    expect(refusal(kind('A', 'as'), kind('A', 'bs'))).to.contain('two messages are named "A"');
    expect(refusal(kind('A', 'as'), kind('B', 'as'))).to.contain('two kinds have the plural "as"');
    const twice = { a: object({}, { name: 'Same' }), b: object({ c: string() }, { name: 'Same' }) };
    expect(refusal(kind('A', 'as', twice))).to.contain('already has a type Same');
  });
});
