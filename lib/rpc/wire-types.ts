import { type DescField, ScalarType } from '@bufbuild/protobuf';
import { WireType } from '@bufbuild/protobuf/wire';

function ofScalar(scalar: ScalarType): WireType {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32;
    default:
      return WireType.Varint;
  }
}

/** The wire types of the key and the value of a map's entries. */
export function entryWireTypes(field: DescField & { fieldKind: 'map' }): {
  readonly key: WireType;
  readonly value: WireType;
} {
  const key = ofScalar(field.mapKey);
  if (field.mapKind === 'message') return { key, value: WireType.LengthDelimited };
  return { key, value: field.mapKind === 'enum' ? WireType.Varint : ofScalar(field.scalar) };
}

/** The wire type of the items of a list that may be packed; undefined for other fields. */
export function packableWireType(field: DescField): WireType | undefined {
  if (field.fieldKind !== 'list' || field.listKind === 'message') return undefined;
  const item = field.listKind === 'enum' ? WireType.Varint : ofScalar(field.scalar);
  return item === WireType.LengthDelimited ? undefined : item;
}

/** The wire type of a field, or of each item of a list that is not packed. */
export function wireTypeOf(field: DescField): WireType {
  switch (field.fieldKind) {
    case 'map':
      return WireType.LengthDelimited;
    case 'message':
      return ofMessage(field);
    case 'enum':
      return WireType.Varint;
    case 'scalar':
      return ofScalar(field.scalar);
    case 'list':
      if (field.listKind === 'message') return ofMessage(field);
      return packableWireType(field) ?? WireType.LengthDelimited;
  }
}

function ofMessage({ delimitedEncoding }: { readonly delimitedEncoding: boolean }): WireType {
  return delimitedEncoding ? WireType.StartGroup : WireType.LengthDelimited;
}

/** Whether the items of a packed list end where the list does. */
export function isWholePack(item: WireType, bytes: Uint8Array): boolean {
  switch (item) {
    case WireType.Bit64:
      return bytes.length % 8 === 0;
    case WireType.Bit32:
      return bytes.length % 4 === 0;
    default:
      return (bytes.at(-1) ?? 0) < 0x80;
  }
}
