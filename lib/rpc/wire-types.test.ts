import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import {
  FieldOptionsSchema,
  SourceCodeInfo_LocationSchema,
  StructSchema,
  UninterpretedOptionSchema,
} from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import { limits, StatusError } from '../base/index.js';
import { baseDescriptors, type DescMessage, requireKnownFields, SchemaRegistry } from './index.js';

const schemas = new SchemaRegistry(baseDescriptors);
const location = SourceCodeInfo_LocationSchema;
const types = [0, 1, 2, 5] as const;

/** A value with this wire type. */
function valued(number: number, type: WireType): Uint8Array {
  const writer = new BinaryWriter().tag(number, type);
  if (type === WireType.Varint) writer.uint32(0);
  if (type === WireType.LengthDelimited) writer.bytes(new Uint8Array());
  if (type === WireType.Bit32) writer.fixed32(0);
  if (type === WireType.Bit64) writer.fixed64(0);
  return writer.finish();
}

function refusalOf(message: DescMessage, bytes: Uint8Array): StatusError | undefined {
  try {
    requireKnownFields(message, bytes);
    return undefined;
  } catch (error) {
    return StatusError.from(error);
  }
}

const numberOf = ({ fields }: DescMessage, name: string): number =>
  fields.find((field) => field.name === name)?.number ?? 0;

const nested = (number: number, bytes: Uint8Array): Uint8Array =>
  new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(bytes).finish();

describe('the wire type of a field', () => {
  const accepted = (message: DescMessage, name: string): readonly number[] =>
    types.filter((type) => !refusalOf(message, valued(numberOf(message, name), type)));

  it('is that of its type; a list of numbers may be packed', () => {
    expect(accepted(location, 'leading_comments')).to.deep.equal([2]);
    expect(accepted(location, 'leading_detached_comments')).to.deep.equal([2]);
    expect(accepted(location, 'path')).to.deep.equal([0, 2]);
    expect(accepted(UninterpretedOptionSchema, 'double_value')).to.deep.equal([1]);
    expect(accepted(UninterpretedOptionSchema, 'negative_int_value')).to.deep.equal([0]);
    expect(accepted(UninterpretedOptionSchema, 'name')).to.deep.equal([2]);
    expect(accepted(FieldOptionsSchema, 'deprecated')).to.deep.equal([0]);
    expect(accepted(FieldOptionsSchema, 'ctype')).to.deep.equal([0]);
    expect(accepted(FieldOptionsSchema, 'targets')).to.deep.equal([0, 2]);
  });

  it('is checked in an entry of a map, and named with its path', () => {
    const entry = (bytes: Uint8Array) => refusalOf(StructSchema, nested(1, bytes));
    expect(entry(valued(1, WireType.LengthDelimited))).to.equal(undefined);
    const { reason, message } = entry(valued(1, WireType.Varint)) ?? {};
    expect(reason).to.equal('MalformedMessage');
    expect(message).to.contain('fields.key has the wire type 0 instead of 2');
    expect(entry(valued(2, WireType.Bit64))?.message).to.contain('fields.value');
  });

  it('is refused for a packed list that ends within an item, where the decoder continues', () => {
    const path = (...bytes: number[]) =>
      refusalOf(location, nested(numberOf(location, 'path'), Uint8Array.from(bytes)));
    expect(path()).to.equal(undefined);
    expect(path(1, 0x80, 1)).to.equal(undefined);
    expect(path(1, 0x80)?.message).to.contain('path ends within an item');
  });

  it('hides no items: a number with the wire type of a message is refused before it is decoded', () => {
    const request = schemas.message('kedge.TransactRequest');
    const operation = request.fields.find(({ name }) => name === 'operations')?.message;
    const precondition = operation?.fields.find(({ name }) => name === 'precondition')?.message;
    if (!operation || !precondition) throw new Error('the message has other fields');
    const entry = nested(numberOf(precondition, 'fields'), new Uint8Array());
    const entries = Buffer.concat(Array<Uint8Array>(limits.requestItemsMax + 1).fill(entry));
    const wrapped = (bytes: Uint8Array) =>
      nested(
        numberOf(request, 'operations'),
        nested(
          numberOf(operation, 'precondition'),
          nested(numberOf(precondition, 'generation'), bytes),
        ),
      );
    expect(schemas.decode(request, wrapped(entry)), 'the decoder finds them').to.deep.equal({
      operations: [{ precondition: { generation: entry.length, fields: { '': '' } } }],
    });
    const refusal = refusalOf(request, wrapped(entries));
    expect(refusal?.message).to.contain('operations.precondition.generation has the wire type 2');
  });
});
