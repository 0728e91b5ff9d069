import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { type ApiObject, type Lister, StatusError } from 'kedge';
import type { AdmissionContext } from 'kedge/server';
import type { Secret } from './kind.js';
import { openSecret, placeOf, secretRules } from './admission.js';
import { maskParameters, parameterResolver, sealParameters } from './parameters.js';
import type { Sealing, StoredParameters } from './parameters.js';
import { parseReference } from '../references/secret-reference.js';
import { isSealed, mask, sealedBody, Sealer } from './sealer.js';

const sealer = new Sealer(randomBytes(32));
const context = { reveals: () => Promise.resolve(true) } as unknown as AdmissionContext;
const blind = { reveals: () => Promise.resolve(false) } as unknown as AdmissionContext;
const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'OK',
    (error: unknown) => StatusError.from(error).code,
  );
const holder = { kind: 'Volume', namespace: 'default', name: 'v' };
const metadata: ApiObject['metadata'] = {
  uid: 'u',
  resourceVersion: '1',
  generation: 1,
  createdAt: '',
  updatedAt: '',
};
const sealing = (stored?: StoredParameters): Sealing => ({
  sealer,
  holder,
  sensitive: ['apiToken'],
  stored,
  field: 'parameters',
});
const secret = (data: Record<string, string>, name = 's'): Secret => ({
  name,
  namespace: 'default',
  data,
  metadata,
});

describe('sensitive literals', () => {
  it('are sealed once: a copy of a stored one is kept, and a text that only looks like one is a literal', () => {
    const [first] = [sealParameters({ apiToken: 'x', region: 'r' }, sealing())!];
    expect(first.region).to.equal('r');
    expect(sealParameters(first, sealing())).to.deep.equal(first);
    const fake = 'kedge-sealed:v1:abcdefgh:AAAA:BBBB';
    const sealed = sealParameters({ apiToken: fake }, sealing())!;
    expect(sealed.apiToken).to.not.equal(fake);
  });

  it('sealed again open as before, under the newest key and while the old one is known', () => {
    const [old, next] = [randomBytes(32), randomBytes(32)];
    const mine = new Sealer(old);
    const text = mine.seal('value', 'here');
    mine.use(next, old);
    expect(mine.isOutdated(text)).to.equal(true);
    const fresh = mine.reseal(text, 'here');
    expect([mine.isOutdated(fresh), sealedBody(fresh)]).to.deep.equal([false, sealedBody(text)]);
    expect(new Sealer(next).open(fresh, 'here')).to.equal('value');
    expect(() => new Sealer(next).open(text, 'here')).to.throw('was sealed with key');
    expect(() => mine.reseal(text, 'elsewhere')).to.throw('changed or moved');
  });
});

describe('sealer', () => {
  it('opens only with its key, at its place, and unchanged', () => {
    const sealed = sealer.seal('hunter2', 'here');
    expect(sealed).to.not.contain('hunter2');
    expect(sealer.open(sealed, 'here')).to.equal('hunter2');
    expect(() => sealer.open(sealed, 'there')).to.throw('changed or moved');
    expect(() => new Sealer(randomBytes(32)).open(sealed, 'here')).to.throw('key');
    const flipped = sealed.slice(0, -2) + (sealed.endsWith('AA') ? 'BB' : 'AA');
    expect(() => sealer.open(flipped, 'here')).to.throw('changed or moved');
  });

  it('seals the same text differently each time', () => {
    expect(sealer.seal('x', 'p')).to.not.equal(sealer.seal('x', 'p'));
  });
});

describe('secret admission', () => {
  const rules = secretRules(sealer, new Map());

  const prepared = async (given: Secret, before: Secret | undefined): Promise<Secret> =>
    rules.prepare!(context, given, before);

  it('stores no plaintext, masks answers, reveals on demand', async () => {
    const stored = await rules.prepare!(context, secret({ password: 'hunter2' }), undefined);
    expect(JSON.stringify(stored)).to.not.contain('hunter2');
    expect(stored.version).to.equal(1);
    expect(rules.present!(stored, false).data).to.deep.equal({ password: mask });
    expect(rules.present!(stored, true).data).to.deep.equal({ password: 'hunter2' });
  });

  it('a mask written back keeps the stored value; nothing changed means nothing rewritten', async () => {
    const before = await rules.prepare!(context, secret({ a: '1', b: '2' }), undefined);
    const same = await rules.prepare!(context, secret({ a: mask, b: '2' }), before);
    expect(same.data).to.equal(before.data);
    const changed = await rules.prepare!(context, secret({ a: mask, b: '3' }), before);
    expect(changed.version).to.equal(2);
    expect(openSecret(sealer, changed)).to.deep.equal({ a: '1', b: '3' });
  });

  it('any value given by a writer who may not read it is another version, also the stored value', async () => {
    const before = await rules.prepare!(context, secret({ a: '1', b: '2' }), undefined);
    for (const data of [
      { a: '1', b: '2' },
      { a: mask, b: '2' },
      { a: mask, b: '3' },
    ]) {
      const after = await rules.prepare!(blind, secret(data), before);
      expect(after.version).to.equal(2);
      expect(Object.keys(after.data!)).to.deep.equal(['a', 'b']);
      for (const key of ['a', 'b']) expect(after.data![key]).to.not.equal(before.data![key]);
    }
    const kept = await rules.prepare!(blind, secret({ a: mask, b: mask }), before);
    expect([kept.version, kept.data]).to.deep.equal([1, before.data]);
  });

  it('refuses a mask for a key without a stored value, which would become the value', async () => {
    const before = await rules.prepare!(context, secret({ a: '1' }), undefined);
    for (const [data, stored] of [
      [{ a: mask }, undefined],
      [{ a: mask, b: mask }, before],
      [{ b: mask }, before],
      [{ a: '2', toString: mask }, before],
    ] as const) {
      const error = await prepared(secret(data), stored).catch((e: unknown) => e);
      const [field] = Object.keys(data).slice(-1);
      expect(error).to.have.property('code', 'InvalidArgument');
      expect((error as StatusError).message).to.match(
        new RegExp(`data\\.${field}: .*mask.*set the value itself`),
      );
    }
  });

  it('refuses bad keys, oversize data and values that look sealed', async () => {
    for (const data of [{ 'a/b': 'x' }, { a: 'x'.repeat(1_100_000) }, { a: sealer.seal('x', 'y') }])
      expect(await codeOf(prepared(secret(data), undefined))).to.equal('InvalidArgument');
  });
});

describe('secret references', () => {
  const table: readonly [string, string][] = [
    ['plain', 'literal'],
    ['secret:a/k', 'default/a/k'],
    ['secret:a.infra.svc/k.pem', 'infra/a/k.pem'],
    ['secret:x', 'malformed'],
    ['secret:a.infra/k', 'malformed'],
    ['secret:/k', 'malformed'],
    ['secret:a/', 'malformed'],
    ['secret:A/k', 'malformed'],
    ['secret:a/../k', 'malformed'],
  ];
  for (const [text, expected] of table)
    it(`${text} is ${expected}`, () => {
      const parsed = parseReference(text, 'default');
      const shown =
        parsed.type === 'reference' ? Object.values(parsed.reference).join('/') : parsed.type;
      expect(shown).to.equal(expected);
    });

  it('rule 10: resolve to plaintext; a missing secret or key is InvalidParameters', async () => {
    const stored = await secretRules(sealer, new Map()).prepare!(
      context,
      secret({ k: 'v' }),
      undefined,
    );
    const lister = {
      get: (key: string) => (key === 'default/s' ? stored : undefined),
    } as Lister<Secret>;
    const resolver = parameterResolver(lister, sealer);
    expect(resolver.resolve({ a: 'secret:s/k', b: 'x' }, holder)).to.deep.equal({
      a: 'v',
      b: 'x',
    });
    const legacy = await secretRules(sealer, new Map()).prepare!(
      context,
      secret({ token: 't' }),
      undefined,
    );
    const ofLegacy = { get: () => legacy } as unknown as Lister<Secret>;
    // The legacy form (specification section 9.2) arrives resolved like any other reference.
    expect(
      parameterResolver(ofLegacy, sealer).resolve({ apiTokenSecretRef: 'infra/cloud' }, holder),
    ).to.deep.equal({ apiTokenSecretRef: 't' });
    expect(() => resolver.resolve({ apiTokenSecretRef: 'infra/cloud' }, holder)).to.throw(
      'apiTokenSecretRef: secret infra/cloud does not exist',
    );
    expect(() => resolver.resolve({ apiTokenSecretRef: 'cloud' }, holder)).to.throw(
      'has the form <namespace>/<secret-name>',
    );
    for (const value of ['secret:s/none', 'secret:none/k', 'secret:s.other.svc/k'])
      expect(() => resolver.resolve({ a: value }, holder)).to.throw('a: secret');
  });

  it('sensitive literals are sealed in the store, masked in answers and plain for the driver', () => {
    const sealed = sealParameters({ apiToken: 't0p', region: 'x' }, sealing());
    expect(isSealed(sealed!.apiToken!)).to.equal(true);
    expect(maskParameters(sealed)).to.deep.equal({ apiToken: mask, region: 'x' });
    const over = (value: string, reveals: boolean) =>
      sealParameters({ apiToken: value, region: 'x' }, sealing({ parameters: sealed, reveals }));
    for (const reveals of [true, false]) expect(over(mask, reveals)).to.deep.equal(sealed);
    expect(over('t0p', true)).to.deep.equal(sealed);
    expect(over('t0p', false)!.apiToken).to.not.equal(sealed!.apiToken);
    const resolver = parameterResolver(
      { get: () => undefined } as unknown as Lister<Secret>,
      sealer,
    );
    expect(resolver.resolve(sealed!, holder).apiToken).to.equal('t0p');
  });

  it('a mask of a parameter keeps a sealed value, and is refused where none is stored', () => {
    const sealed = sealParameters({ apiToken: 't0p' }, sealing())!;
    const stored = { parameters: sealed, reveals: true };
    const masked = { apiToken: mask };
    expect(sealParameters(masked, { ...sealing(stored), sensitive: undefined })).to.deep.equal(
      sealed,
    );
    const legacy = { parameters: { region: mask }, reveals: true };
    expect(sealParameters({ region: mask }, sealing(legacy))).to.deep.equal({ region: mask });
    const refused: readonly (readonly [Record<string, string>, Sealing])[] = [
      [masked, sealing()],
      [masked, sealing({ parameters: {}, reveals: true })],
      [masked, sealing({ parameters: { apiToken: 'secret:s/k' }, reveals: true })],
      // A driver that does not hide this parameter could show the value.
      [masked, { ...sealing(stored), sensitive: [] }],
      [{ toString: mask }, sealing(stored)],
    ];
    for (const [parameters, how] of refused)
      expect(() => sealParameters(parameters, how)).to.throw(
        StatusError,
        /parameters\.(apiToken|toString): is the mask .* set the value itself/,
      );
  });

  it('a ciphertext can not be moved to another key or version', () => {
    const place = { namespace: 'default', name: 's', version: 1 };
    const sealed = sealer.seal('x', placeOf(place, 'a'));
    expect(() => sealer.open(sealed, placeOf(place, 'b'))).to.throw();
    expect(() => sealer.open(sealed, placeOf({ ...place, version: 2 }, 'a'))).to.throw();
  });
});
