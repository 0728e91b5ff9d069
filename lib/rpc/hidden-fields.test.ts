import { create, toBinary } from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Type as Type,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  FieldOptionsSchema,
  type FieldOptions,
} from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import { SchemaRegistry } from './index.js';

/** `kedge.hidden` as a compiler encodes it: an extension by its number, here once per value. */
function hidden(...values: readonly boolean[]): FieldOptions {
  const $unknown = values.map((value) => ({
    no: 50302,
    wireType: 0,
    data: Uint8Array.of(Number(value)),
  }));
  return Object.assign(create(FieldOptionsSchema), { $unknown });
}

const text = (name: string, number: number, options?: FieldOptions) => ({
  name,
  jsonName: name,
  number,
  type: Type.STRING,
  ...(options ? { options } : {}),
});

const set = create(FileDescriptorSetSchema, {
  file: [
    create(FileDescriptorProtoSchema, {
      name: 'shop.proto',
      package: 'shop',
      syntax: 'proto3',
      messageType: [
        {
          name: 'Lamp',
          field: [
            text('kept', 1, hidden(true)),
            text('shown', 2, hidden(false)),
            text('again', 3, hidden(true, false)),
            {
              name: 'inner',
              jsonName: 'inner',
              number: 4,
              type: Type.MESSAGE,
              typeName: '.shop.Lamp.Inner',
            },
          ],
          nestedType: [{ name: 'Inner', field: [text('kept', 1, hidden(true)), text('shown', 2)] }],
        },
      ],
    }),
  ],
});

describe('a field with the option kedge.hidden', () => {
  const bytes = toBinary(FileDescriptorSetSchema, set);
  const schemas = new SchemaRegistry(Buffer.from(bytes).toString('base64'));
  const lamp = schemas.message('shop.Lamp');

  it('is in no message of a registry, at any depth; with the option false it is', () => {
    expect(lamp.fields.map(({ name }) => name)).to.deep.equal(['shown', 'again', 'inner']);
    const inner = schemas.message('shop.Lamp.Inner');
    expect(inner.fields.map(({ name }) => name)).to.deep.equal(['shown']);
  });

  it('is neither encoded nor accepted', () => {
    const json = { kept: 'x', shown: 'y', inner: { kept: 'x' } };
    expect(schemas.decode(lamp, schemas.encode(lamp, json))).to.deep.equal({
      shown: 'y',
      inner: {},
    });
    expect(schemas.problem(lamp, { kept: 'x' })).to.contain('kept');
  });

  it('is not disclosed by reflection', () => {
    const file = schemas.fileNamed('shop.proto');
    expect(file && schemas.fileBytes(file).includes('kept')).to.equal(false);
  });
});
