import { create, toBinary } from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  FileDescriptorSetSchema,
  StructSchema,
} from '@bufbuild/protobuf/wkt';
import { SchemaRegistry } from '../schema-registry.js';

/** The types of the fields, by the name of the plain field. */
export const scalars = {
  text: Type.STRING,
  yes: Type.BOOL,
  int: Type.INT32,
  unsigned: Type.UINT32,
  signed: Type.SINT32,
  long: Type.INT64,
  unsignedLong: Type.UINT64,
  double: Type.DOUBLE,
  float: Type.FLOAT,
  bytes: Type.BYTES,
  color: Type.ENUM,
  inner: Type.MESSAGE,
  struct: Type.MESSAGE,
} as const;
const snake = (name: string): string => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);

/** A message with fields of every type: plain, optional, in a list, in a map, and in a oneof. */
function everyType(): SchemaRegistry {
  const forms = ['', 'maybe', 'many', 'mapped'];
  const names = Object.keys(scalars) as (keyof typeof scalars)[];
  const typeNames: Record<string, string> = {
    color: '.every.Color',
    inner: '.every.Every',
    struct: '.google.protobuf.Struct',
  };
  const typed = (name: keyof typeof scalars) => ({
    type: scalars[name],
    ...(typeNames[name] ? { typeName: typeNames[name] } : {}),
  });
  const optional = names.filter((name) => scalars[name] !== Type.MESSAGE);
  const fields = forms.flatMap((form, at) =>
    (form === 'maybe' ? optional : names).map((name) => {
      const json = form === '' ? name : `${form}${name[0]?.toUpperCase()}${name.slice(1)}`;
      // The numbers are in another order than the names, and some need a tag of three bytes.
      const number = 40 * (forms.length - at) + names.indexOf(name) * (at === 2 ? 200 : 1) + 1;
      const field = { name: snake(json), jsonName: json, number, ...typed(name) };
      if (form === 'many') return { ...field, label: Label.REPEATED };
      if (form === 'maybe')
        return { ...field, proto3Optional: true, oneofIndex: optional.indexOf(name) + 1 };
      if (form !== 'mapped') return field;
      const typeName = `.every.Every.${json[0]?.toUpperCase()}${json.slice(1)}Entry`;
      return { ...field, label: Label.REPEATED, type: Type.MESSAGE, typeName };
    }),
  );
  const choices = (['text', 'inner'] as const).map((name, at) => ({
    ...{ name: `one_${name}`, jsonName: name === 'text' ? 'oneText' : 'oneInner' },
    ...{ number: 9_000 + at, ...typed(name), oneofIndex: 0 },
  }));
  const entries = names.map((name) => ({
    name: `Mapped${name[0]?.toUpperCase()}${name.slice(1)}Entry`,
    options: { mapEntry: true },
    field: [
      { name: 'key', jsonName: 'key', number: 1, type: Type.STRING },
      { name: 'value', jsonName: 'value', number: 2, ...typed(name) },
    ],
  }));
  const color = [
    { name: 'NONE', number: 0 },
    { name: 'RED', number: 1 },
    { name: 'BELOW', number: -3 },
  ];
  const oneofDecl = [{ name: 'one' }, ...optional.map((name) => ({ name: `_maybe_${name}` }))];
  const set = create(FileDescriptorSetSchema, {
    file: [
      StructSchema.file.proto,
      {
        name: 'every.proto',
        package: 'every',
        syntax: 'proto3',
        dependency: [StructSchema.file.proto.name],
        enumType: [{ name: 'Color', value: color }],
        messageType: [
          { name: 'Every', field: [...fields, ...choices], nestedType: entries, oneofDecl },
        ],
      },
    ],
  });
  return new SchemaRegistry(Buffer.from(toBinary(FileDescriptorSetSchema, set)).toString('base64'));
}

/** The registry of {@link every}. */
export const schemas = everyType();
/** A message with fields of every type. */
export const every = schemas.message('every.Every');
