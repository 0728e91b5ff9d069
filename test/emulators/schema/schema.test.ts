import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import { root } from '../../acceptance/daemon.js';
import { ask } from '../core/client.js';
import { createEmulator } from '../index.js';
import { sourcesOfForm } from './form.js';
import { checkOf, formSchemas, requestSchemas } from './index.js';
import { sourcesOf } from './row.js';
import { specifiedCalls, unspecifiedCalls } from './specified-calls.js';

interface Sent {
  readonly call: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const uuid = '506f78a4-e098-11e5-ad9f-000f53306ae1';
const usual = { authorization: 'Bearer secret', 'content-type': 'application/json' };

function objections(provider: 'cloud1' | 'cloud2', { call, body, headers = usual }: Sent) {
  const [method = '', target = ''] = call.split(' ');
  const url = new URL(target, 'http://host');
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  const request = { method, path: url.pathname, query: [...url.searchParams], headers };
  return checkOf(provider)({ ...request, body: text });
}

describe('the request schemas', () => {
  it('name the source of more than four fifths of their rows, and print the other rows', () => {
    const schemas = [
      ...Object.entries(requestSchemas).map(([name, one]) => [name, sourcesOf(one)] as const),
      ...Object.entries(formSchemas).map(([name, one]) => [name, sourcesOfForm(one)] as const),
    ];
    for (const [provider, all] of schemas) {
      const unseen = all.filter(({ source }) => source === undefined).map(({ row }) => row);
      console.log(`      ${provider}: ${all.length} rows, ${unseen.length} without a source`);
      for (const row of new Set(unseen)) console.log(`        ${row}`);
      expect(unseen.length, provider).to.be.lessThan(all.length / 5);
      expect(all.filter(({ source }) => source === '')).to.deep.equal([]);
    }
  });

  it('and the emulators share no file', () => {
    const folder = join(root, 'test/emulators');
    const imports = (below: string) =>
      readdirSync(join(folder, below))
        .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
        .flatMap((name) => [
          ...readFileSync(join(folder, below, name), 'utf8').matchAll(/from '([^']+)'/g),
        ])
        .map(([, target = '']) => target);
    expect(imports('schema').filter((target) => !target.startsWith('./'))).to.deep.equal([]);
    for (const below of ['core', 'cloud1', 'cloud2', 'cloud3', 'cloud4'])
      expect(imports(below).filter((target) => target.includes('schema'))).to.deep.equal([]);
  });

  describe('of cloud1 object to', () => {
    const create = { name: 'a', size_gigabytes: 1, region: 'fra1' };
    const attach = { type: 'attach', droplet_id: 1 };
    const actions = `POST /v2/volumes/${uuid}/actions`;
    for (const [what, sent, objection] of [
      ['a path that is not defined', { call: 'GET /v2/sizes' }, 'the definition has no such call'],
      ['a method that is not defined', { call: 'PATCH /v2/volumes' }, 'no such call'],
      ['no token', { call: 'GET /v2/volumes', headers: {} }, 'header authorization is missing'],
      [
        'another scheme, without showing the value',
        { call: 'GET /v2/volumes', headers: { authorization: 'Basic c2VjcmV0' } },
        'header authorization has the wrong form',
      ],
      [
        'a body without the content type of JSON',
        { call: 'POST /v2/volumes', body: create, headers: { authorization: 'Bearer x' } },
        'header content-type is missing',
      ],
      ['an id that is no UUID', { call: 'GET /v2/volumes/12' }, 'path volume_id "12" does not'],
      ['a parameter that is not defined', { call: 'GET /v2/volumes?nam=a' }, 'query nam is not'],
      ['a parameter given twice', { call: 'GET /v2/volumes?name=a&name=b' }, 'several times'],
      ['a page that is no number', { call: 'GET /v2/volumes?page=x' }, 'query page "x" is no'],
      ['a page size of 201', { call: 'GET /v2/volumes?per_page=201' }, 'is more than 200'],
      ['a body of text', { call: 'POST /v2/volumes', body: '{' }, 'not a JSON object'],
      ['a missing field', { call: 'POST /v2/volumes', body: { name: 'a' } }, 'region is missing'],
      [
        'a field that is not defined',
        { call: 'POST /v2/volumes', body: { ...create, size: 1 } },
        'body size is not defined',
      ],
      [
        'the wrong type',
        { call: 'POST /v2/volumes', body: { ...create, size_gigabytes: '1' } },
        'body size_gigabytes "1" is no number',
      ],
      [
        'a name in upper case',
        { call: 'POST /v2/volumes', body: { ...create, name: 'A' } },
        'body name "A" does not match',
      ],
      [
        'tags that are no texts',
        { call: 'POST /v2/volumes', body: { ...create, tags: [1] } },
        'body tags [1] is no list of texts',
      ],
      ['a droplet that is text', { call: actions, body: { ...attach, droplet_id: '1' } }, 'number'],
      ['an unknown action', { call: actions, body: { type: 'mount' } }, 'is none of attach'],
      [
        'a field of another action',
        { call: actions, body: { ...attach, size_gigabytes: 1 } },
        'body size_gigabytes is not defined',
      ],
      ['an action that is no number', { call: 'GET /v2/actions/x' }, 'path action_id "x" is no'],
      ['a body of a DELETE', { call: `DELETE /v2/volumes/${uuid}`, body: {} }, 'has no body'],
    ] as const)
      it(`${what}`, () => {
        const found = objections('cloud1', sent);
        expect(found.join('\n')).to.contain(objection);
        expect(found.join('\n')).not.to.contain('c2VjcmV0');
      });
  });

  describe('of cloud2 object to', () => {
    const create = { name: 'a', size: 10, location: 'fsn1' };
    for (const [what, sent, objection] of [
      ['the path of snapshots', { call: 'GET /v1/snapshots' }, 'no such call'],
      ['a path without its version', { call: 'GET /volumes' }, 'no such call'],
      ['an id that is text', { call: 'GET /v1/volumes/x' }, 'path id "x" is no number'],
      ['a size below 10', { call: 'POST /v1/volumes', body: { ...create, size: 9 } }, 'less than'],
      [
        'a size that is no whole number',
        { call: 'POST /v1/volumes', body: { ...create, size: 10.5 } },
        'body size 10.5 is no whole number',
      ],
      [
        'a label that is a number',
        { call: 'POST /v1/volumes', body: { ...create, labels: { a: 1 } } },
        'has the value 1 for a',
      ],
      [
        'a label that ends with a dash',
        { call: 'POST /v1/volumes', body: { ...create, labels: { a: 'b-' } } },
        'has the value "b-" for a',
      ],
      ['labels in a list', { call: 'POST /v1/volumes', body: { ...create, labels: [] } }, 'object'],
      [
        'automount as text',
        { call: 'POST /v1/volumes/1/actions/attach', body: { server: 1, automount: 'no' } },
        'is neither true nor false',
      ],
      ['a detach with a body', { call: 'POST /v1/volumes/1/actions/detach', body: {} }, 'no body'],
      ['no ids of actions', { call: 'GET /v1/actions' }, 'query id is missing'],
      ['an unknown state', { call: 'GET /v1/volumes?status=gone' }, 'is none of available'],
    ] as const)
      it(`${what}`, () => expect(objections('cloud2', sent).join('\n')).to.contain(objection));

    it('nothing in a request for several ids of actions', () => {
      expect(objections('cloud2', { call: 'GET /v1/actions?id=1&id=2' })).to.deep.equal([]);
    });
  });

  it('ask for a content type only where there is content', () => {
    const headers = { authorization: 'Bearer secret' };
    expect(objections('cloud1', { call: 'GET /v2/volumes', headers })).to.deep.equal([]);
    expect(
      objections('cloud2', { call: 'POST /v1/volumes/1/actions/detach', headers }),
    ).to.deep.equal([]);
  });

  it('are applied to every request of an emulator', async () => {
    const { emulator } = createEmulator({ provider: 'cloud1', clock: new FakeClock() });
    const body = { name: 'a', region: 'fra1', size_gigabytes: 1 };
    await ask(emulator, { call: 'POST /v2/volumes', body });
    expect(emulator.violations).to.deep.equal([]);
    await ask(emulator, { call: 'POST /v2/volumes', body: { ...body, size: 1 } });
    expect(emulator.violations).to.deep.equal([
      'request 2, POST /v2/volumes: body size is not defined',
    ]);
  });

  it('know the calls of the specification, and each of them is defined', () => {
    const seen = [
      { method: 'GET', path: `/v2/actions/1` },
      { method: 'GET', path: '/v2/regions' },
      { method: 'GET', path: `/v2/volumes/${uuid}/actions/1` },
      { method: 'GET', path: '/v2/snapshots/x' },
    ];
    expect(unspecifiedCalls('cloud1', seen)).to.deep.equal([
      'GET /v2/regions',
      `GET /v2/volumes/${uuid}/actions/1`,
      'GET /v2/snapshots/x',
    ]);
    expect(unspecifiedCalls('cloud2', [{ method: 'PUT', path: '/v1/volumes/1' }])).to.deep.equal([
      'PUT /v1/volumes/1',
    ]);
    for (const provider of ['cloud1', 'cloud2'] as const)
      for (const call of specifiedCalls[provider])
        expect(objections(provider, { call: call.replace('*', '1') }), call).not.to.include(
          'the definition has no such call',
        );
  });
});
