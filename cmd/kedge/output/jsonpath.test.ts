import { expect } from 'chai';
import fc from 'fast-check';
import { volumes } from '@kedge/controllers/kinds';
import { evaluateJsonPath, parseJsonPath } from './jsonpath.js';
import { requireKnownPaths } from './jsonpath-fields.js';

const document = {
  kind: 'VolumeList',
  items: [
    { name: 'a', status: 'Bound', size: 1, labels: { 'app.io/x': 'y' } },
    { name: 'b', status: 'Failed', size: 20, labels: {} },
    { name: 'c', status: 'Bound', size: 3, labels: {} },
  ],
};

function print(template: string, of: unknown = document): string {
  return evaluateJsonPath(parseJsonPath(template), of);
}

describe('a JSONPath template', () => {
  for (const [template, printed] of [
    ['{.kind}', 'VolumeList'],
    ['{$.kind}: {.items[0].name}', 'VolumeList: a'],
    ['{.items[*].name}', 'a b c'],
    ['{.items[-1].name} {.items[1:].name} {.items[:1].name}', 'c b c a'],
    [`{.items[0].labels['app.io/x']}{"\\t"}{'!'}`, 'y\t!'],
    ['{range .items[*]}{.name}={@.status}{"\\n"}{end}', 'a=Bound\nb=Failed\nc=Bound\n'],
    ['{range .items[*]}{$.kind} {end}', 'VolumeList VolumeList VolumeList '],
    ['{.items[?(@.status=="Bound")].name}', 'a c'],
    ['{.items[?(@.size>=3)].name}|{.items[?(@.size<3)].name}', 'b c|a'],
    ['{.items[?(@.status!="Bound")].name}', 'b'],
    ["{.items[?(@.labels['app.io/x'])].name}", 'a'],
    ['{.items[1]}', '{"name":"b","status":"Failed","size":20,"labels":{}}'],
    ['{.items[0].absent}', ''],
    ['plain', 'plain'],
  ] as const)
    it(`prints as kubectl does: ${template}`, () => {
      expect(print(template)).to.equal(printed);
    });

  for (const [template, problem] of [
    ['', 'is empty'],
    ['{', 'a path such as .status is expected'],
    ['{.a', '"}" is expected'],
    ['{.a[0}', '"]" is expected'],
    ['{..a}', 'not supported'],
    ['{.a[x]}', 'is expected'],
    ['{range .a}', 'without {end}'],
    ['{end}', 'without a range'],
    ['{"a}', 'an unterminated quote'],
    ['{.a[?(.b)]}', 'starts with "@"'],
    [`${'{range .a}'.repeat(20)}${'{end}'.repeat(20)}`, 'more than 8 nested ranges'],
    ['x'.repeat(5_000), 'more than 4096 characters'],
  ] as const)
    it(`is refused with the place: ${template.slice(0, 30)}`, () => {
      expect(() => print(template)).to.throw(problem);
    });

  it('that prints too much is refused before its evaluation ends', () => {
    const items = Array.from({ length: 300 }, () => ({ of: 'x'.repeat(100) }));
    const ranges = '{range $.items[*]}'.repeat(4);
    expect(() => print(`${ranges}{.of}${'{end}'.repeat(4)}`, { items })).to.throw('characters');
    expect(() => print(`${ranges}${'{end}'.repeat(4)}`, { items })).to.throw('items; print less');
  });

  it('selects the value at any path of fields and items', () => {
    const key = fc.string({ minLength: 1, maxLength: 8 });
    const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean());
    fc.assert(
      fc.property(fc.array(fc.oneof(key, fc.nat(5)), { maxLength: 6 }), leaf, (path, value) => {
        let of: unknown = value;
        for (const part of [...path].reverse())
          of =
            typeof part === 'number'
              ? [...Array.from({ length: part }, () => null), of]
              : Object.fromEntries([[part, of]]);
        const quoted = path.map((part) =>
          typeof part === 'number'
            ? `[${part}]`
            : `['${part.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}']`,
        );
        const printed = print(`{$${quoted.join('')}}`, of);
        expect(printed).to.equal(typeof value === 'string' ? value : JSON.stringify(value));
      }),
    );
  });

  it('is parsed or refused with InvalidArgument, whatever its text', () => {
    const word = fc.constantFrom(
      ...['{', '}', '.', '[', ']', '*', '$', '@', '?(', ')', '==', '"', "'", '\\', 'range', 'end'],
      ...[' ', 'a', '-1', ':', '0', 'items'],
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 25 }), (words) => {
        try {
          expect(print(words.join(''))).to.be.a('string');
        } catch (error) {
          expect(error).to.have.property('code', 'InvalidArgument');
        }
      }),
      { numRuns: 2_000 },
    );
  });

  for (const [template, single, problem] of [
    ['{.siez}', true, 'did you mean size?'],
    ['{.items[0].statsu}', false, 'did you mean status?'],
    ['{range .items[*]}{.conditions[*].typ}{end}', false, 'did you mean type?'],
    ['{.conditions.type}', true, 'add [*]'],
    ['{.size.unit}', true, 'a value without fields'],
    ['{.conditions[?(@.statu=="True")].type}', true, 'did you mean status?'],
  ] as const)
    it(`to a field that no volume has is refused: ${template}`, () => {
      const check = (): void => requireKnownPaths(parseJsonPath(template), volumes, single);
      expect(check).to.throw(problem);
    });

  it('to existing fields and keys of maps is accepted', () => {
    for (const template of ['{.kind} {.parameters.hostPath}', "{.labels['a/b']}", '{.metadata.*}'])
      requireKnownPaths(parseJsonPath(template), volumes, true);
    requireKnownPaths(
      parseJsonPath('{.kind}{range .items[*]}{.name}{end}{.items[?(@.status=="Bound")].name}'),
      volumes,
      false,
    );
  });
});
