import { create, type DescExtension, setExtension } from '@bufbuild/protobuf';
import {
  type FieldDescriptorProto,
  FieldOptions_JSType,
  FieldOptionsSchema,
  type MethodOptions,
  MethodOptionsSchema,
} from '@bufbuild/protobuf/wkt';
import type { SchemaRegistry } from './schema-registry.js';

/** A REST route in the form of google.api.http: one verb with its path, and the request field of the body. */
export type RouteInit = {
  readonly [method in 'get' | 'put' | 'post' | 'delete']?: string;
} & { readonly body?: string };

/** Rules in the form of kedge.rules; further properties are ignored. */
export interface RulesInit {
  readonly format?: string | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly pattern?: string | undefined;
  readonly maxItems?: number | undefined;
  readonly defaultJson?: string | undefined;
}

/** Options of google.api.field_behavior and of protobuf itself. */
export interface FieldTraits {
  readonly required?: boolean;
  readonly outputOnly?: boolean;
  readonly immutable?: boolean;
  /** Whether error messages and logs omit the value: the option `debug_redact`. */
  readonly sensitive?: boolean;
  /** `jstype = JS_NUMBER`: a 64-bit integer that is a number in JSON. */
  readonly jsNumber?: boolean;
}

const ruleNames = [
  'format',
  'minimum',
  'maximum',
  'maxLength',
  'pattern',
  'maxItems',
  'defaultJson',
] as const;

/** The name of the rule for a value: a bound that is not a 32-bit integer needs the rule for doubles. */
function spelled(name: (typeof ruleNames)[number], value: string | number): string {
  if (
    (name !== 'minimum' && name !== 'maximum') ||
    (value === Math.trunc(Number(value)) && Math.abs(value) < 2 ** 31)
  )
    return name;
  return name === 'minimum' ? 'doubleMinimum' : 'doubleMaximum';
}

/** Values of google.api.FieldBehavior. */
const behaviour = { required: 2, outputOnly: 3, immutable: 5 } as const;

/**
 * Writes the options that {@link httpRoute} and {@link fieldRules} read into descriptors that are created at run
 * time.
 */
export class OptionWriter {
  readonly #schemas: SchemaRegistry;

  /** @param schemas registry with the files that declare the options */
  constructor(schemas: SchemaRegistry) {
    this.#schemas = schemas;
  }

  /** The options of a method with this route. @throws TypeError if the registry lacks google.api.http */
  httpRoute(route: RouteInit): MethodOptions {
    const extension = this.#extension('google.api.http');
    const { body = '', ...paths } = route;
    const [method, path] = Object.entries(paths)[0] ?? [];
    const options = create(MethodOptionsSchema);
    const schema = extension.message;
    if (!schema) throw new TypeError('google.api.http is not a message option');
    const rule = create(schema, { body, pattern: { case: method, value: path } });
    setExtension(options, extension, rule as never);
    return options;
  }

  /** Replaces the options of a field. @throws TypeError if the registry lacks kedge.rules or field_behavior */
  setFieldRules(field: FieldDescriptorProto, traits: FieldTraits, rules: RulesInit): void {
    const { sensitive = false, jsNumber = false } = traits;
    const options = create(FieldOptionsSchema, {
      debugRedact: sensitive,
      ...(jsNumber ? { jstype: FieldOptions_JSType.JS_NUMBER } : {}),
    });
    const behaviours = (['required', 'outputOnly', 'immutable'] as const)
      .filter((name) => traits[name])
      .map((name) => behaviour[name]);
    if (behaviours.length > 0)
      setExtension(options, this.#extension('google.api.field_behavior'), behaviours as never);
    const extension = this.#extension('kedge.rules');
    const schema = extension.message;
    if (!schema) throw new TypeError('kedge.rules is not a message option');
    const given = ruleNames.flatMap((name) => {
      const value = rules[name];
      return value === undefined ? [] : [[spelled(name, value), value] as const];
    });
    if (given.length > 0)
      setExtension(options, extension, create(schema, Object.fromEntries(given)) as never);
    field.options = options;
  }

  #extension(name: string): DescExtension {
    const found = this.#schemas.registry.getExtension(name);
    if (!found) throw new TypeError(`no extension ${name} in the descriptor set`);
    return found;
  }
}
