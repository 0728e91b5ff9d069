import {
  type DescExtension,
  type DescField,
  type DescMethod,
  getOption,
  type Registry,
} from '@bufbuild/protobuf';
import { FieldOptions_JSType } from '@bufbuild/protobuf/wkt';

/** The REST mapping of an RPC. */
export interface HttpRoute {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE' | 'PATCH';
  /** The path in the syntax of google.api.http: `/v1/namespaces/{namespace}/lamps/{name}:dim` */
  readonly path: string;
  /** The request field of the body; `*` for the whole request, empty for none. */
  readonly body: string;
}

/** The declared options of a field. */
export interface FieldRules {
  readonly required: boolean;
  readonly outputOnly: boolean;
  readonly immutable: boolean;
  /** Name of the format, such as a Kubernetes name; empty for none. */
  readonly format: string;
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
  readonly maxLength: number | undefined;
  readonly pattern: string | undefined;
  /** Maximum items of a list or entries of a map. */
  readonly maxItems: number | undefined;
  /** The default of an absent value, as JSON. */
  readonly defaultJson: string | undefined;
  /** Error messages and logs omit the value. */
  readonly sensitive: boolean;
  /** The field is a 64-bit integer that is a number in JSON. Values beyond the exact numbers are strings. */
  readonly jsNumber: boolean;
}

// Options are extensions that are read by name from the same descriptor set, so their shape is declared here.
interface HttpRuleMessage {
  readonly pattern: { readonly case?: string; readonly value?: string };
  readonly body: string;
}
interface FieldRulesMessage {
  readonly format: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly doubleMinimum?: number;
  readonly doubleMaximum?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly maxItems?: number;
  readonly defaultJson?: string;
}

// getOption is typed for extensions known at compile time.
const readOption = getOption as (element: DescMethod | DescField, option: DescExtension) => unknown;

function extension(registry: Registry, name: string): DescExtension {
  const found = registry.getExtension(name);
  if (!found) throw new TypeError(`no extension ${name} in the descriptor set`);
  return found;
}

const methods = { get: 'GET', put: 'PUT', post: 'POST', delete: 'DELETE', patch: 'PATCH' } as const;

/**
 * The REST route of an RPC; undefined if it has none or one of a custom HTTP verb.
 * @throws TypeError if the descriptor set lacks google.api.http
 */
export function httpRoute(registry: Registry, method: DescMethod): HttpRoute | undefined {
  const option = extension(registry, 'google.api.http');
  const rule = readOption(method, option) as HttpRuleMessage | undefined;
  const name = rule?.pattern.case;
  if (!rule || name === undefined || !(name in methods)) return undefined;
  return {
    method: methods[name as keyof typeof methods],
    path: rule.pattern.value ?? '',
    body: rule.body,
  };
}

/** Values of google.api.FieldBehavior. */
const behaviour = { required: 2, outputOnly: 3, immutable: 5 } as const;

/** True for a 64-bit field with `jstype = JS_NUMBER`. */
export function isJsNumber(field: DescField): boolean {
  return field.proto.options?.jstype === FieldOptions_JSType.JS_NUMBER;
}

/** Cached, because reading an option decodes it, and every request reads those of every field. */
const rulesOf = new WeakMap<DescField, FieldRules>();

/** The rules of a field. @throws TypeError if the descriptor set lacks kedge.rules or google.api.field_behavior */
export function fieldRules(registry: Registry, field: DescField): FieldRules {
  const known = rulesOf.get(field);
  if (known) return known;
  const rules = readFieldRules(registry, field);
  rulesOf.set(field, rules);
  return rules;
}

function readFieldRules(registry: Registry, field: DescField): FieldRules {
  const declared = extension(registry, 'google.api.field_behavior');
  const behaviours = readOption(field, declared) as readonly number[];
  const rules = readOption(field, extension(registry, 'kedge.rules')) as FieldRulesMessage;
  return {
    required: behaviours.includes(behaviour.required),
    outputOnly: behaviours.includes(behaviour.outputOnly),
    immutable: behaviours.includes(behaviour.immutable),
    format: rules.format,
    minimum: rules.minimum ?? rules.doubleMinimum,
    maximum: rules.maximum ?? rules.doubleMaximum,
    maxLength: rules.maxLength,
    pattern: rules.pattern,
    maxItems: rules.maxItems,
    defaultJson: rules.defaultJson,
    sensitive: field.proto.options?.debugRedact ?? false,
    jsNumber: isJsNumber(field),
  };
}
