import type { Command } from 'commander';
import { counted, StatusError } from 'kedge/objects';
import { type DescField, type DescMessage, fieldRules, type FieldRules } from 'kedge/rpc';
import { didYouMean } from '../../../near-miss.js';
import { kindNamed } from '../../connection/api.js';
import { type ServedSchema, servedSchema } from '../../connection/served-schema.js';
import { print, table } from '../../output/output.js';
import { withExamples } from '../../program/examples.js';
import { usageError } from '../../output/usage.js';

interface ExplainOptions {
  readonly recursive?: boolean;
}

/** Maximum nesting depth, because messages may be recursive. */
const depthMax = 8;

const scalars: Readonly<Record<number, string>> = {
  1: 'number',
  2: 'number',
  8: 'boolean',
  9: 'text',
  12: 'bytes (base64)',
};

function plainType(field: DescField): string {
  if (field.message) return field.message.typeName.startsWith('google.protobuf') ? 'any' : 'object';
  if (field.enum) return 'one of several values';
  return scalars[field.scalar ?? 0] ?? 'whole number';
}

function typeOf(field: DescField): string {
  if (field.fieldKind === 'map') return `map of text to ${plainType(field)}`;
  return field.fieldKind === 'list' ? `list of ${plainType(field)}` : plainType(field);
}

/** The properties of a field, such as `required, immutable`. */
function flagsOf(rules: FieldRules): string {
  const flags = [
    rules.required ? 'required' : '',
    rules.immutable ? 'immutable' : '',
    rules.outputOnly ? 'status' : '',
  ];
  return flags.filter((flag) => flag !== '').join(', ');
}

class Explanation {
  readonly #schema: ServedSchema;

  constructor(schema: ServedSchema) {
    this.#schema = schema;
  }

  rules(field: DescField): FieldRules {
    return fieldRules(this.#schema.schemas.registry, field);
  }

  comment(field: DescField): string {
    return this.#schema.comment(`${field.parent.typeName}.${field.name}`);
  }

  /** The field at a path; undefined for an empty path. @throws StatusError NotFound with a suggestion */
  find(kind: string, path: readonly string[]): DescField | undefined {
    let message: DescMessage | undefined = this.#schema.message;
    let field: DescField | undefined;
    for (const [at, name] of path.entries()) {
      const above: string = [kind, ...path.slice(0, at)].join('.');
      const known: readonly string[] = (message?.fields ?? []).map(({ jsonName }) => jsonName);
      field = message?.fields.find(({ jsonName }) => jsonName === name);
      if (!field)
        throw new StatusError({
          code: 'NotFound',
          reason: 'NoSuchField',
          message:
            known.length === 0
              ? `${above} has no fields of its own`
              : `${above} has no field ${JSON.stringify(name)}${didYouMean(name, known) || `; it has ${known.join(', ')}`}`,
        });
      message = field.message;
    }
    return field;
  }

  fields(message: DescMessage): string {
    const rows = message.fields.map((field) => [
      field.jsonName,
      typeOf(field),
      flagsOf(this.rules(field)),
      this.comment(field),
    ]);
    return table([['FIELD', 'TYPE', '', 'DESCRIPTION'], ...rows]);
  }

  /** All fields below a message, by path. */
  tree(message: DescMessage, prefix = '', depth = 0): readonly (readonly string[])[] {
    return message.fields.flatMap((field) => {
      const path = prefix === '' ? field.jsonName : `${prefix}.${field.jsonName}`;
      const row = [path, typeOf(field), flagsOf(this.rules(field))];
      const inner = field.message && depth < depthMax ? field.message : undefined;
      return [row, ...(inner ? this.tree(inner, path, depth + 1) : [])];
    });
  }

  details(field: DescField): readonly (readonly string[])[] {
    const rules = this.rules(field);
    const values = (field.enum?.values ?? []).filter(({ number }) => number !== 0);
    const bounds = [
      rules.minimum === undefined ? '' : `at least ${rules.minimum}`,
      rules.maximum === undefined ? '' : `at most ${rules.maximum}`,
      rules.maxLength === undefined ? '' : `at most ${counted(rules.maxLength, 'character')}`,
      rules.maxItems === undefined ? '' : `at most ${counted(rules.maxItems, 'item')}`,
    ].filter((text) => text !== '');
    return [
      ['Type:', typeOf(field)],
      ['Required:', rules.required ? 'yes' : 'no'],
      ...(rules.defaultJson === undefined ? [] : [['Default:', rules.defaultJson]]),
      ['Immutable:', rules.immutable ? "yes: it can't be changed after the creation" : 'no'],
      ['Status:', rules.outputOnly ? 'yes: the server sets it' : 'no: users set it'],
      ...(rules.sensitive ? [['Sensitive:', 'yes: its value is masked']] : []),
      ...(rules.format === '' ? [] : [['Format:', rules.format]]),
      ...(bounds.length === 0 ? [] : [['Bounds:', bounds.join(', ')]]),
      ...(rules.pattern === undefined ? [] : [['Pattern:', rules.pattern]]),
      ...(values.length === 0 ? [] : [['Values:', values.map(({ name }) => name).join(', ')]]),
    ];
  }
}

async function explain(text: string, { recursive }: ExplainOptions): Promise<void> {
  const [type = '', ...path] = text.split('.');
  if (path.includes('')) throw usageError(`${JSON.stringify(text)} must be KIND or KIND.FIELD...`);
  const kind = kindNamed(type);
  const schema = await servedSchema(kind);
  const explanation = new Explanation(schema);
  const field = explanation.find(kind.kind, path);
  const message = field ? field.message : schema.message;
  const about = field ? explanation.comment(field) : schema.comment(schema.message.typeName);
  print([kind.kind, ...path].join('.'));
  if (about !== '') print(`\n${about}`);
  if (field) print(`\n${plainRows(explanation.details(field))}`);
  if (!message || message.fields.length === 0 || message.typeName.startsWith('google.')) return;
  print('');
  if (recursive) print(table([['FIELD', 'TYPE', ''], ...explanation.tree(message)]));
  else print(explanation.fields(message));
}

function plainRows(rows: readonly (readonly string[])[]): string {
  return rows.map(([label = '', value = '']) => `${label.padEnd(12)}${value}`).join('\n');
}

/** Adds `kedge explain KIND[.FIELD...]`. */
export function addExplain(program: Command): void {
  const command = program
    .command('explain')
    .argument('<field>', 'KIND or KIND.FIELD.FIELD...')
    .description('describe the fields of a kind, from the schema of the server')
    .option('--recursive', 'include all nested fields')
    .action((text: string, options: ExplainOptions) => explain(text, options));
  withExamples(
    command,
    ['kedge explain volume', 'The fields of a volume'],
    ['kedge explain service.volumes.claimTemplate.size', 'One field'],
    ['kedge explain service --recursive', 'All fields of a service, with their paths'],
  );
}
