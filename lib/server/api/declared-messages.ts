import { create } from '@bufbuild/protobuf';
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  type EnumDescriptorProto,
  EnumDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  type FieldDescriptorProto,
  FieldDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';
import {
  type AnyField,
  enumNumbers,
  fieldNumber,
  type Fields,
  type Shape,
} from '../../object/index.js';
import type { OptionWriter } from '../../rpc/index.js';
import type { MountedKind } from './mounted-kinds.js';

/** A field's descriptor before its options. */
export interface FieldParts {
  /** Name in JSON. */
  readonly name: string;
  readonly number: number;
  readonly type: Type;
  readonly typeName?: string;
  readonly repeated?: boolean;
}

/** The protobuf name of a camelCase field: `notAfter` is `not_after`, and `notAfter` again in JSON. */
function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function pascal(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** A field's descriptor. */
export function fieldDescriptor(parts: FieldParts): FieldDescriptorProto {
  const { name, number, type, typeName = '', repeated } = parts;
  return create(FieldDescriptorProtoSchema, {
    name: snake(name),
    jsonName: name,
    number,
    type,
    typeName,
    label: repeated ? Label.REPEATED : Label.OPTIONAL,
  });
}

/** A message under construction. */
interface Scope {
  readonly message: DescriptorProto;
  /** Full name of the message. */
  readonly path: string;
  /** Protobuf names of all its fields. */
  readonly fields: readonly string[];
}

/** Names of types and enum values of a message, which share one namespace. */
function namesIn({ nestedType, enumType }: DescriptorProto): readonly string[] {
  return [
    ...nestedType.map(({ name }) => name),
    ...enumType.flatMap(({ name, value }) => [name, ...value.map((v) => v.name)]),
  ];
}

/** The wire type of a shape. */
interface Element {
  readonly type: Type;
  readonly typeName?: string;
}

const scalars = {
  string: Type.STRING,
  boolean: Type.BOOL,
  int32: Type.INT32,
  int64: Type.INT64,
  double: Type.DOUBLE,
} as const;

/**
 * True if protobuf must distinguish a zero value from an absent one. Messages always have presence. A required string
 * is never empty, and an enum has presence only if it is declared to.
 */
function hasPresence({ shape, options, presence, explicit }: AnyField): boolean {
  if (shape.type === 'enum') return explicit === true;
  if (!(shape.type in scalars)) return false;
  if (presence === 'optional' || options.default !== undefined) return true;
  return presence === 'required' && shape.type !== 'string';
}

/** Creates protobuf messages of declared fields. A type that is used in several places is created once. */
export class DeclaredMessages {
  /** Messages that are declared beside those of the kinds. */
  readonly topLevel: DescriptorProto[] = [];
  /** Comments of fields, by full name. */
  readonly comments: Record<string, string> = {};
  readonly #packageName: string;
  readonly #options: OptionWriter;
  readonly #placed = new Map<Shape, string>();

  constructor(packageName: string, options: OptionWriter) {
    this.#packageName = packageName;
    this.#options = options;
  }

  /** The message of a kind: the fields of every object, then its own fields. */
  kind({ kind: { kind, scope }, fields: spec, status }: MountedKind): DescriptorProto {
    const path = `${this.#packageName}.${kind}`;
    const message = create(DescriptorProtoSchema, { name: kind });
    const fields = Object.keys({ ...spec, ...status }).map(snake);
    const at: Scope = {
      message,
      path,
      fields: ['name', 'namespace', 'labels', 'metadata', ...fields],
    };
    const name = fieldDescriptor({ name: 'name', number: 1, type: Type.STRING });
    this.#options.setFieldRules(name, { required: true }, { format: 'dns-label' });
    message.field.push(name);
    if (scope === 'Namespaced')
      message.field.push(fieldDescriptor({ name: 'namespace', number: 2, type: Type.STRING }));
    message.field.push(this.#map(at, 'labels', 3, { type: Type.STRING }));
    const typeName = '.kedge.ObjectMeta';
    const metadata = { name: 'metadata', number: 4, type: Type.MESSAGE, typeName };
    message.field.push(fieldDescriptor(metadata));
    this.#fields(at, spec, false);
    this.#fields(at, status, true);
    return message;
  }

  #fields(at: Scope, fields: Fields, outputOnly: boolean): void {
    for (const [name, field] of Object.entries(fields)) {
      const made = this.#field(at, name, field);
      const { shape, options, presence } = field;
      const item = shape.type === 'list' || shape.type === 'map' ? shape.of : undefined;
      const rules = { ...item?.options, ...options };
      const { default: fallback, format, minimum, maximum, maxLength, pattern, maxItems } = rules;
      this.#options.setFieldRules(
        made,
        {
          required: presence === 'required',
          outputOnly,
          immutable: options.immutable === true,
          sensitive: rules.sensitive === true,
          jsNumber: (item ?? field).shape.type === 'int64',
        },
        {
          format,
          minimum,
          maximum,
          maxLength,
          pattern,
          maxItems,
          ...(fallback === undefined ? {} : { defaultJson: JSON.stringify(fallback) }),
        },
      );
      if (options.description !== undefined)
        this.comments[`${at.path}.${made.name}`] = options.description;
      at.message.field.push(made);
    }
  }

  #field(at: Scope, name: string, field: AnyField): FieldDescriptorProto {
    const { shape } = field;
    const number = fieldNumber(name, field);
    if (shape.type === 'map') return this.#map(at, name, number, this.#element(at, name, shape.of));
    if (shape.type === 'list')
      return fieldDescriptor({
        name,
        number,
        ...this.#element(at, name, shape.of),
        repeated: true,
      });
    const made = fieldDescriptor({ name, number, ...this.#element(at, name, field) });
    if (hasPresence(field)) {
      made.proto3Optional = true;
      made.oneofIndex = at.message.oneofDecl.length;
      at.message.oneofDecl.push({
        $typeName: 'google.protobuf.OneofDescriptorProto',
        name: `_${made.name}`,
      });
    }
    return made;
  }

  /** Returns the field of a map: as protoc does, a repeated entry message, which is nested. */
  #map(at: Scope, name: string, number: number, value: Element): FieldDescriptorProto {
    const entry = `${pascal(name)}Entry`;
    this.#nest(at, name, entry).push(
      create(DescriptorProtoSchema, {
        name: entry,
        field: [
          fieldDescriptor({ name: 'key', number: 1, type: Type.STRING }),
          fieldDescriptor({ name: 'value', number: 2, ...value }),
        ],
        options: { mapEntry: true },
      }),
    );
    const typeName = `.${at.path}.${entry}`;
    return fieldDescriptor({ name, number, type: Type.MESSAGE, typeName, repeated: true });
  }

  #element(at: Scope, name: string, { shape }: AnyField): Element {
    switch (shape.type) {
      case 'json':
        return { type: Type.MESSAGE, typeName: '.google.protobuf.Value' };
      case 'enum':
        return { type: Type.ENUM, typeName: `.${this.#enum(at, name, shape)}` };
      case 'object':
        return { type: Type.MESSAGE, typeName: `.${this.#object(at, name, shape)}` };
      case 'list':
      case 'map':
        // Unreachable: the declaration of the kind refuses it.
        throw new TypeError(
          `${at.path}.${name}: a ${shape.type} can't be a list item or map value`,
        );
      default:
        return { type: scalars[shape.type] };
    }
  }

  #object(at: Scope, name: string, shape: Shape & { type: 'object' }): string {
    const placed = this.#placed.get(shape);
    if (placed !== undefined) return placed;
    const typeName = shape.name ?? pascal(name);
    const path = shape.topLevel ? `${this.#packageName}.${typeName}` : `${at.path}.${typeName}`;
    const message = create(DescriptorProtoSchema, { name: typeName });
    if (shape.topLevel) this.topLevel.push(message);
    else this.#nest(at, name, typeName).push(message);
    this.#placed.set(shape, path);
    const fields = Object.keys(shape.fields).map(snake);
    this.#fields({ message, path, fields }, shape.fields, false);
    return path;
  }

  #enum(at: Scope, name: string, shape: Shape & { type: 'enum' }): string {
    const placed = this.#placed.get(shape);
    if (placed !== undefined) return placed;
    const typeName = shape.name ?? pascal(name);
    const values = [
      { name: `${snake(typeName).slice(1).toUpperCase()}_UNSPECIFIED`, number: 0 },
      ...[...enumNumbers(shape)].map(([value, number]) => ({ name: value, number })),
    ];
    const made = create(EnumDescriptorProtoSchema, { name: typeName, value: values });
    const path = this.#placeEnum(at, name, made);
    this.#placed.set(shape, path);
    return path;
  }

  /**
   * Adds an enum. Its values share the namespace of the enclosing message: if one is taken, the enum gets a message
   * of its own.
   */
  #placeEnum(at: Scope, name: string, made: EnumDescriptorProto): string {
    const taken = new Set([...namesIn(at.message), ...at.fields]);
    if (!made.value.some((value) => taken.has(value.name))) {
      this.#nest(at, name, made.name);
      at.message.enumType.push(made);
      return `${at.path}.${made.name}`;
    }
    const around = create(DescriptorProtoSchema, { name: `${made.name}Enum`, enumType: [made] });
    this.#nest(at, name, around.name).push(around);
    return `${at.path}.${around.name}.${made.name}`;
  }

  /**
   * Returns the message for a nested type, and adds it to its message.
   * @throws TypeError if the message already has a type of that name
   */
  #nest({ message, path }: Scope, field: string, typeName: string): DescriptorProto[] {
    if (namesIn(message).includes(typeName))
      throw new TypeError(
        `${path}.${field}: ${path} already has a type ${typeName}; set another name with the option "name"`,
      );
    return message.nestedType;
  }
}
