import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  fieldRules,
  SchemaRegistry,
} from 'kedge/rpc';
import { describeKinds } from 'kedge/server';
import { services, volumes } from './declared-kinds/volume-and-service.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const fixtures = join(root, 'test/library/declared-kinds');

/** The frozen .proto files, compiled with the options that the library declares. */
function compiled(): SchemaRegistry {
  const folder = mkdtempSync(join(tmpdir(), 'kedge-declared-'));
  try {
    cpSync(join(fixtures, 'api'), join(folder, 'api'), { recursive: true });
    for (const part of ['google', 'kedge'])
      cpSync(join(root, 'lib/rpc/proto', part), join(folder, part), { recursive: true });
    writeFileSync(join(folder, 'buf.yaml'), 'version: v2\nmodules:\n  - path: .\n');
    const image = join(folder, 'image.binpb');
    const buf = join(root, 'node_modules/.bin/buf');
    execFileSync(buf, ['build', '--as-file-descriptor-set', '-o', image], { cwd: folder });
    return new SchemaRegistry(readFileSync(image).toString('base64'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The library's metadata corresponds to that of the API. */
const typeName = ({ typeName: name }: DescMessage | DescEnum): string =>
  name.replace(/^kedge\./, 'api.');

function typeOf(field: DescField): string {
  const { message, scalar } = field;
  const of = message ? typeName(message) : field.enum ? typeName(field.enum) : `scalar ${scalar}`;
  return field.fieldKind === 'map' ? `map of ${of} by ${field.mapKey}` : of;
}

/** The properties of a field that are on the wire or validated. */
function shownField(schemas: SchemaRegistry, field: DescField): object {
  const { name, jsonName, number, fieldKind, presence, oneof } = field;
  const { defaultJson, ...rules } = fieldRules(schemas.registry, field);
  const type = typeOf(field);
  return {
    name,
    jsonName,
    number,
    fieldKind,
    type,
    presence,
    oneof: oneof?.name,
    defaultJson,
    rules,
  };
}

/** The descriptors of a message and all messages in it, by full name. */
function shown(
  schemas: SchemaRegistry,
  message: DescMessage,
  all: Record<string, unknown> = {},
): Record<string, unknown> {
  const name = typeName(message);
  if (name in all) return all;
  all[name] = Object.fromEntries(
    [...message.fields]
      .sort((a, b) => a.number - b.number)
      .map((field) => [field.number, shownField(schemas, field)]),
  );
  for (const field of message.fields) {
    if (field.message) shown(schemas, field.message, all);
    if (field.enum)
      all[typeName(field.enum)] = field.enum.values.map((value) => [value.name, value.number]);
  }
  return all;
}

describe('derived protobuf descriptors', function () {
  this.timeout(180_000);
  const derived = describeKinds('api', [volumes, services]).schemas;
  let written: SchemaRegistry;
  before(() => (written = compiled()));

  for (const kind of ['Volume', 'Service'])
    it(`of a declared ${kind} are those of its .proto file, field by field`, () => {
      const of = (schemas: SchemaRegistry): Record<string, unknown> =>
        shown(schemas, schemas.message(`api.${kind}`));
      expect(of(derived)).to.deep.equal(of(written));
    });

  it('have every message of the .proto files except requests and responses', () => {
    const kinds = ['Volume', 'Service'].flatMap((kind) =>
      Object.keys(shown(derived, derived.message(`api.${kind}`))),
    );
    const all = ['api/volume.proto', 'api/service.proto'].flatMap(
      (name) => written.fileNamed(name)?.messages.map((message) => message.typeName) ?? [],
    );
    const declared = all.filter((name) => !/(Request|Response)$/.test(name));
    expect(declared).to.have.length.above(3);
    expect(kinds).to.include.members(declared);
  });

  it('have only methods of the .proto files, by name and kind', () => {
    const methods = (schemas: SchemaRegistry): readonly string[] =>
      schemas
        .services('api')
        .filter(({ name }) => /^(Volume|Service)Service$/.test(name))
        .flatMap((service) => service.methods.map((m) => `${m.name} ${m.methodKind}`));
    expect(methods(written)).to.include.members(methods(derived));
  });
});
