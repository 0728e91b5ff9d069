import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { expect } from 'chai';
import { effectRecords } from 'kedge';
import { type DescMessage, httpRoute, SchemaRegistry } from 'kedge/rpc';
import { builtinPolicies, methodTable, openApiDocument } from 'kedge/server';
import { descriptorSet } from '@kedge/api';
import { comments } from '@kedge/api/comments';
import { hiddenFields } from '@kedge/api/kinds';
import { accessPolicies } from '@kedge/controllers';
import { allKinds } from '@kedge/controllers/kinds';

const servicePages = fileURLToPath(new URL('../../../docs/reference/services', import.meta.url));
const schemas = new SchemaRegistry(descriptorSet);
const methods = methodTable(schemas, 'api', allKinds);

/** Fields of every kind, which the guide to kinds describes. */
const common = ['name', 'namespace', 'labels', 'metadata'];
/** Not checked: its fields are those of a service. */
const copied = 'api.Instance.Template';

/** The fields of a message and of the messages in it that have no comment, by full name. */
function undescribed(message: DescMessage, seen = new Set<string>()): readonly string[] {
  if (seen.has(message.typeName) || !message.typeName.startsWith('api.')) return [];
  seen.add(message.typeName);
  if (message.typeName === copied) return [];
  return message.fields.flatMap((field) => {
    const name = `${message.typeName}.${field.name}`;
    const isOfKind = allKinds.some(({ kind }) => message.typeName === `api.${kind}`);
    const isDescribed = comments[name] !== undefined || (isOfKind && common.includes(field.name));
    return [
      ...(isDescribed ? [] : [name]),
      ...(field.message ? undescribed(field.message, seen) : []),
    ];
  });
}

describe('every kind', () => {
  for (const kind of allKinds) {
    const mine = methods.filter((m) => m.standard?.kind === kind);

    it(`${kind.kind} has a message with its status fields`, () => {
      const message = schemas.message(`api.${kind.kind}`);
      const fields = message.fields.map((f) => f.jsonName);
      expect(fields).to.include.members(['name', 'labels', 'metadata']);
      // The library's fields of tokens are in no .proto.
      const ofLibrary = ['secretHash', 'subjectUid', 'makerUid'];
      const hidden = [...ofLibrary, ...Object.keys(hiddenFields[kind.kind] ?? {})];
      expect(fields).to.not.include.any.members(hidden);
      const shown = kind.statusFields.filter((f) => !hidden.includes(f));
      expect(fields).to.include.members(shown);
      if (kind.scope === 'Namespaced') expect(fields).to.include('namespace');
    });

    it(`${kind.kind} has its methods over gRPC and REST, under its plural`, () => {
      const verbs = mine.map((m) => m.standard?.verb);
      expect(verbs).to.include.members(['Get', 'List', 'Delete', 'Watch']);
      // Created by their service, and immutable because the token is shown once.
      if (kind.kind !== 'Instance') expect(verbs).to.include('Create');
      if (!['Instance', 'Token'].includes(kind.kind)) expect(verbs).to.include('Update');
      if (verbs.includes('UpdateStatus')) expect(kind.statusFields).to.not.deep.equal([]);
      for (const method of mine) {
        expect(method.route?.path, method.id).to.contain(`/${kind.plural}`);
        expect(method.route?.path.includes('{namespace}')).to.equal(kind.scope === 'Namespaced');
      }
    });

    it(`${kind.kind} is in the OpenAPI document, on a reference page, and in policy readonly unless confidential`, () => {
      const { paths } = openApiDocument(schemas, methods) as { paths: Record<string, unknown> };
      const list = mine.find((m) => m.standard?.verb === 'List')?.route?.path ?? '';
      expect(paths).to.have.property(list);
      const pages = readdirSync(servicePages).map((name) =>
        readFileSync(join(servicePages, name), 'utf8'),
      );
      expect(pages.some((page) => page.includes(`\`GET ${list}\``))).to.equal(true);
      const rules = accessPolicies.readonly?.rules ?? [];
      const confidential = ['tokens', 'users', 'policies', 'registries'];
      const readable = rules.some((rule) => rule.resources.includes(kind.plural));
      expect(readable).to.equal(!confidential.includes(kind.plural));
    });

    it(`${kind.kind} has fields with comments, from which their documentation is made`, () => {
      expect(undescribed(schemas.message(`api.${kind.kind}`))).to.deep.equal([]);
    });

    it(`${kind.kind} has columns that begin with its name`, () => {
      expect(['NAME', 'ID']).to.include(kind.columns[0]?.header);
    });
  }

  it('every method has a route, except bidirectional streams and AdminBootstrap', () => {
    for (const service of schemas.services('api'))
      for (const method of service.methods.filter(
        (m) => m.methodKind !== 'bidi_streaming' && m.name !== 'AdminBootstrap',
      ))
        expect(httpRoute(schemas.registry, method), `${service.name}.${method.name}`).to.be.an(
          'object',
        );
  });

  it('policies of the library name no kind of Kedge', () => {
    expect(Object.keys(builtinPolicies)).to.deep.equal(['root', 'admin']);
    for (const { rules } of Object.values(builtinPolicies))
      for (const { resources } of rules) expect(resources).to.deep.equal(['*']);
  });

  it('built-in policies name kinds, their parts, and resources of services without a kind', () => {
    // Not kinds: the answers of their services have other sources.
    const planned = [
      ...['logs', 'health', 'images', 'exec', 'keys', 'driverchecks', 'noderequests'],
    ];
    const parts = ['', '/status', '/finalizers', '/expiry'];
    const known = [...allKinds, effectRecords].flatMap((k) => parts.map((part) => k.plural + part));
    for (const policy of Object.values(accessPolicies))
      for (const rule of policy.rules)
        expect([...known, ...planned, '*']).to.include.members([...rule.resources]);
  });

  it('every schema that validates requests is a valid JSON schema', async () => {
    // Not exported: the library compiles them without this check, which is slow.
    const built = (name: string): Promise<object> =>
      import(
        new URL(`../../../lib/dist/server/schema/${name}.js`, import.meta.url).href
      ) as Promise<object>;
    const { inputSchema } = (await built('json-schema')) as {
      inputSchema: (registry: SchemaRegistry, message: unknown) => object;
    };
    const ajv = new Ajv({ strict: true });
    for (const kind of allKinds) {
      const schema = inputSchema(schemas, schemas.message(`api.${kind.kind}`));
      expect(ajv.validateSchema(schema), `${kind.kind}: ${ajv.errorsText()}`).to.equal(true);
    }
  });
});
