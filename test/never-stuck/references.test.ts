import { type DescExtension, getOption } from '@bufbuild/protobuf';
import { expect } from 'chai';
import { type DescField, type DescMessage, SchemaRegistry } from 'kedge/rpc';
import { descriptorSet } from '@kedge/api';
import {
  instanceReferences,
  serviceReferences,
  snapshotReferences,
  volumeReferences,
} from '@kedge/api/kinds';
import { otherFields, relations, type Subject, type Target } from './references.js';

const schemas = new SchemaRegistry(descriptorSet);
/** The descriptor type of text fields. */
const text = 9;

function isText(scalar: number): boolean {
  return scalar === text;
}

// Typed for extensions that are known at compile time.
const optionOf = getOption as (
  field: DescField,
  option: DescExtension,
) => { readonly refersTo: string };

/** Whether the .proto declares that a text names no object. */
function namesNothing(field: DescField): boolean {
  return optionOf(field, schemas.registry.getExtension('kedge.stored')!).refersTo === 'nothing';
}

/** Paths of all text fields, except those of every kind and those that are not names according to their .proto. */
function textFields(message: DescMessage, path: readonly string[] = []): readonly string[] {
  return message.fields.flatMap((field) => {
    const here = [...path, field.jsonName].join('.');
    if (['metadata', 'conditions', 'labels'].includes(here) || namesNothing(field)) return [];
    switch (field.fieldKind) {
      case 'message':
        return textFields(field.message, [...path, field.jsonName]);
      case 'list':
        if (field.listKind === 'message')
          return textFields(field.message, [...path, `${field.jsonName}[]`]);
        return field.listKind === 'scalar' && isText(field.scalar) ? [`${here}[]`] : [];
      case 'map':
        return field.mapKind === 'scalar' && isText(field.scalar) ? [`${here}{}`] : [];
      case 'scalar':
        return isText(field.scalar) ? [here] : [];
      default:
        return [];
    }
  });
}

/** The kind of object that a field names. */
function kindOf(to: Target): Target {
  return to === 'home' ? 'Node' : to;
}

describe('the table of references', () => {
  for (const kind of Object.keys(otherFields) as Subject[])
    it(`has every text field of ${kind}: as a reference, or with the reason why it is not one`, () => {
      const referring = relations.filter(({ from }) => from === kind).flatMap((r) => r.fields);
      const known = [...referring, ...Object.keys(otherFields[kind])];
      expect(known.sort()).to.deep.equal([...textFields(schemas.message(`api.${kind}`))].sort());
    });

  const declared: readonly (readonly [Subject, Readonly<Record<string, string>>])[] = [
    ['Volume', volumeReferences],
    ['Snapshot', snapshotReferences],
    ['Service', serviceReferences],
    ['Instance', instanceReferences],
  ];
  for (const [kind, references] of declared)
    it(`matches the .proto of ${kind}`, () => {
      const known = relations
        .filter(({ from }) => from === kind)
        .flatMap(({ to, fields }) => fields.map((field) => [field, kindOf(to)] as const));
      expect(Object.fromEntries(known)).to.deep.equal(references);
    });
});
