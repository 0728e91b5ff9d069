import type { AnyKind } from 'kedge';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';

/** The description of one object. */
export interface Description {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly status?: string;
  readonly fields?: readonly { readonly name: string; readonly value: string }[];
  readonly conditions?: readonly Readonly<Record<string, string>>[];
  readonly references?: readonly Readonly<Record<string, string>>[];
  readonly hints?: readonly string[];
  readonly events?: readonly Readonly<Record<string, string | number>>[];
}

/** Converts the name of a field to a title: `secretMounts` becomes `Secret mounts`. */
function titleOf(field: string): string {
  const words = field.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function inLine(value: unknown): string {
  if (Array.isArray(value)) return value.map(inLine).join(', ') || 'none';
  if (!isJsonObject(value)) return String(value);
  const pairs = Object.entries(value).map(([key, inner]) => `${key}=${inLine(inner)}`);
  return pairs.join('; ') || 'none';
}

/** Returns a value as text: a list of objects, such as the rules of a policy, as one line per object. */
function fieldsOf(name: string, value: unknown): readonly { name: string; value: string }[] {
  const title = titleOf(name);
  if (!Array.isArray(value) || !value.some(isJsonObject))
    return [{ name: title, value: inLine(value) }];
  return value.map((inner, at) => ({ name: `${title} ${at + 1}`, value: inLine(inner) }));
}

/** Describes an object of a kind that the server does not describe: its fields as text. */
export function descriptionOf(kind: AnyKind, object: JsonObject): Description {
  const { name: _name, namespace: _namespace, status: _status, metadata, ...rest } = object;
  const meta = isJsonObject(metadata) ? metadata : {};
  const shown = Object.entries(rest).filter(([, value]) => value !== '' && value !== null);
  return {
    kind: kind.kind,
    namespace: textOf(object, 'namespace'),
    name: textOf(object, 'name'),
    status: textOf(object, 'status') || 'Stored',
    fields: [
      ...shown.flatMap(([name, value]) => fieldsOf(name, value)),
      ...(['createdAt', 'updatedAt'] as const)
        .filter((field) => typeof meta[field] === 'string')
        .map((field) => ({ name: titleOf(field), value: textOf(meta, field) })),
    ],
  };
}
