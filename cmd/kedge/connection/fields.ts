import { type AnyKind, type FieldViolation, invalid } from 'kedge/objects';
import {
  type DescEnum,
  type DescMessage,
  fieldRules,
  isJsonMessage,
  isJsonObject,
  type JsonObject,
} from 'kedge/rpc';
import { apiSchemas } from '@kedge/api/schemas';
import { didYouMean } from '../../near-miss.js';

/** Metadata fields that a write contains; the store sets the others. */
const written = ['annotations', 'resourceVersion'];

function messageOf(kind: AnyKind): DescMessage {
  return apiSchemas().message(`api.${kind.kind}`);
}

/** The problem of a value that is none of an enum. The encoded message would lack it, and so remove the field. */
function enumProblems({ values }: DescEnum, value: unknown, at: string): readonly FieldViolation[] {
  const allowed = values.map(({ name }) => name).filter((name) => !name.endsWith('_UNSPECIFIED'));
  if (typeof value === 'string' && allowed.includes(value)) return [];
  const shown = JSON.stringify(value);
  return [{ field: at, description: `${shown} is not allowed; use one of ${allowed.join(', ')}` }];
}

function problems(
  message: DescMessage,
  object: JsonObject,
  path: string,
): readonly FieldViolation[] {
  if (isJsonMessage(message)) return [];
  return Object.entries(object).flatMap(([name, value]): readonly FieldViolation[] => {
    const at = path === '' ? name : `${path}.${name}`;
    const field = message.fields.find(({ jsonName }) => jsonName === name);
    if (!field) {
      const known = message.fields.map(({ jsonName }) => jsonName);
      return [{ field: at, description: `is not a field${didYouMean(name, known)}` }];
    }
    if (fieldRules(apiSchemas().registry, field).outputOnly)
      return [{ field: at, description: 'is set by the server; omit it' }];
    if (field.fieldKind === 'enum') return enumProblems(field.enum, value, at);
    if (field.fieldKind === 'list' && field.listKind === 'enum' && Array.isArray(value))
      return value.flatMap((item: unknown, index) =>
        enumProblems(field.enum, item, `${at}[${index}]`),
      );
    if (!field.message) return [];
    const { message: inner } = field;
    if (field.fieldKind === 'list' && Array.isArray(value))
      return value.flatMap((item: unknown, index) =>
        isJsonObject(item) ? problems(inner, item, `${at}[${index}]`) : [],
      );
    return field.fieldKind === 'message' && isJsonObject(value) ? problems(inner, value, at) : [];
  });
}

/**
 * Refuses what an update would silently ignore or remove: unknown fields, those that the server sets, and unknown values
 * of enums.
 * @throws StatusError InvalidArgument naming each
 */
export function requireWritable(kind: AnyKind, object: JsonObject): void {
  const found = problems(messageOf(kind), object, '');
  if (found.length > 0) throw invalid(found);
}

/** An object without the fields that the server sets, except its version in `metadata.resourceVersion`. */
export function writableOf(kind: AnyKind, object: JsonObject): JsonObject {
  const { registry } = apiSchemas();
  const fields = messageOf(kind).fields.filter((field) => !fieldRules(registry, field).outputOnly);
  const names = new Set(fields.map(({ jsonName }) => jsonName));
  const metadata = isJsonObject(object.metadata) ? object.metadata : {};
  const own = Object.entries(metadata).filter(([name]) => written.includes(name));
  const kept = Object.entries(object)
    .filter(([name]) => names.has(name))
    .map(([name, value]) => [name, name === 'metadata' ? Object.fromEntries(own) : value] as const);
  return Object.fromEntries(kept);
}
