import { create, type DescExtension, setExtension } from '@bufbuild/protobuf';
import {
  type FieldDescriptorProto,
  FieldOptionsSchema,
  type MethodOptions,
  MethodOptionsSchema,
} from '@bufbuild/protobuf/wkt';
import type { SchemaRegistry } from './schema-registry.js';

/** A REST route as google.api.http has it. */
export type RouteInit = {
  readonly [method in 'get' | 'put' | 'post' | 'delete']?: string;
} & { readonly body?: string };

/** Rules as kedge.rules has them; further properties are ignored. */
export interface RulesInit {
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
}

/** Writes the options that {@link httpRoute} and {@link fieldRules} read, into descriptors made at run time. */
export class OptionWriter {
  readonly #schemas: SchemaRegistry;

  /** @param schemas with the files that declare the options */
  constructor(schemas: SchemaRegistry) {
    this.#schemas = schemas;
  }

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

  setFieldRules(
    field: FieldDescriptorProto,
    behaviours: readonly number[],
    { format = '', minimum, maximum, maxLength }: RulesInit,
  ): void {
    const options = create(FieldOptionsSchema);
    setExtension(options, this.#extension('google.api.field_behavior'), behaviours as never);
    const extension = this.#extension('kedge.rules');
    const schema = extension.message;
    if (!schema) throw new TypeError('kedge.rules is not a message option');
    const init = {
      format,
      ...(minimum === undefined ? {} : { minimum }),
      ...(maximum === undefined ? {} : { maximum }),
      ...(maxLength === undefined ? {} : { maxLength }),
    };
    setExtension(options, extension, create(schema, init as Record<string, unknown>) as never);
    field.options = options;
  }

  #extension(name: string): DescExtension {
    const found = this.#schemas.registry.getExtension(name);
    if (!found) throw new TypeError(`no extension ${name} in the descriptor set`);
    return found;
  }
}
