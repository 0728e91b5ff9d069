import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import type { Token } from '../../core/machine.js';
import { createEmulator } from '../../index.js';
import { askCloud3, type Cloud3Call } from '../client.js';
import {
  parseAuthorization,
  signatureOf,
  type SignedRequest,
  signed,
  signingKey,
} from './sigv4.js';

const secret = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const scope = { day: '20150830', region: 'us-east-1', service: 'service' };

/** A request of the published suite "aws-sig-v4-test-suite" with its signature. */
interface Vector extends Partial<SignedRequest> {
  readonly signature: string;
}

const usual = { host: 'example.amazonaws.com', 'x-amz-date': '20150830T123600Z' };
const form = 'application/x-www-form-urlencoded';
const vectors: Readonly<Record<string, Vector>> = {
  'get-vanilla': {
    signature: '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  },
  'get-vanilla-query-order-key-case': {
    query: [
      ['Param2', 'value2'],
      ['Param1', 'value1'],
    ],
    signature: 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  },
  'get-vanilla-utf8-query': {
    query: [['ሴ', 'bar']],
    signature: '2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04',
  },
  'get-header-key-duplicate': {
    headers: { 'my-header1': 'value2,value2,value1' },
    signature: 'c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea',
  },
  'get-header-value-multiline': {
    headers: { 'my-header1': 'value1,value2,value3' },
    signature: 'ba17b383a53190154eb5fa66a1b836cc297cc0a3d70a5d00705980573d8ff790',
  },
  'post-vanilla': {
    method: 'POST',
    signature: '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  },
  'post-x-www-form-urlencoded': {
    method: 'POST',
    headers: { 'content-type': form },
    body: 'Param1=value1',
    signature: 'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  },
  'post-x-www-form-urlencoded-parameters': {
    method: 'POST',
    headers: { 'content-type': `${form}; charset=utf8` },
    body: 'Param1=value1',
    signature: '1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe',
  },
};

describe('Signature Version 4', () => {
  for (const [name, { signature, ...given }] of Object.entries(vectors))
    it(`has the published signature of ${name}`, () => {
      const { headers = {}, ...rest } = given;
      const all = { ...usual, ...headers };
      const request = { method: 'GET', path: '/', query: [], body: '', ...rest, headers: all };
      const signedHeaders = Object.keys(all).sort();
      expect(signatureOf(request, { secret, scope, signedHeaders })).to.equal(signature);
    });

  it('derives the key of the documentation', () => {
    const key = signingKey(secret, { ...scope, service: 'iam' });
    expect(key.toString('hex')).to.equal(
      'c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9',
    );
  });

  it('reads the header that it writes', () => {
    const request = { method: 'POST', path: '/', query: [], headers: { host: 'h' }, body: 'a=b' };
    const key = { keyId: 'AKIDEXAMPLE', secret, sessionToken: 'session' };
    const place = { region: 'us-east-1', service: 'ec2' };
    const { headers } = signed(request, key, place, Date.UTC(2015, 7, 30, 12, 36));
    expect(headers['x-amz-date']).to.equal('20150830T123600Z');
    expect(headers['x-amz-security-token']).to.equal('session');
    expect(parseAuthorization(headers['authorization'] ?? '')).to.deep.include({
      keyId: 'AKIDEXAMPLE',
      scope: { day: '20150830', ...place },
      signedHeaders: ['host', 'x-amz-date', 'x-amz-security-token'],
    });
    expect(parseAuthorization('Bearer secret')).to.equal(undefined);
  });
});

describe('cloud3 verifies', () => {
  const now = Date.UTC(2026, 10, 26);
  const expiresAt = now + 3_600_000;
  const fixed: Token = { name: 'fixed', keyId: 'AKIAFIXED', secret: 'fixed-secret' };
  const session: Token = {
    ...{ name: 'session', keyId: 'ASIASESSION', secret: 'session-secret', expiresAt },
    sessionToken: 'session-token',
  };
  const minutes = (count: number): number => now + count * 60_000;
  const codeOf = async (call: Omit<Cloud3Call, 'action'>, signatureAt = now): Promise<string> => {
    const signatureClock = new FakeClock(signatureAt);
    const tokens = [fixed, session];
    const clock = new FakeClock();
    const { emulator } = createEmulator({ provider: 'cloud3', tokens, clock, signatureClock });
    const answer = await askCloud3(emulator, { action: 'DescribeVolumes', at: now, ...call });
    expect(answer.headers).to.include({ date: new Date(signatureAt).toUTCString() });
    expect(answer.headers['x-amzn-requestid']).to.equal('emulated-000001');
    if (answer.status === 200) return 'ok';
    expect(answer.body['RequestID']).to.equal('emulated-000001');
    const { Error: error } = answer.body['Errors'] as { Error: { Code: string } };
    return `${answer.status} ${error.Code}`;
  };

  for (const [what, call, code] of [
    ['a key', { key: fixed }, 'ok'],
    ['a session', { key: session }, 'ok'],
    ['an unknown key', { key: { ...fixed, keyId: 'AKIAOTHER' } }, '401 AuthFailure'],
    ['another secret', { key: { ...fixed, secret: 'x' } }, '401 AuthFailure'],
    ['another session token', { key: { ...session, sessionToken: 'x' } }, '401 AuthFailure'],
    [
      'a session token that the key does not have',
      { key: { ...fixed, sessionToken: 'x' } },
      '401 AuthFailure',
    ],
    ['a region that does not exist', { key: fixed, region: 'mars-1' }, '401 AuthFailure'],
    ['a clock that is 14 minutes fast', { key: fixed, at: minutes(14) }, 'ok'],
    ['a clock that is 16 minutes fast', { key: fixed, at: minutes(16) }, '400 RequestExpired'],
    ['a clock that is 16 minutes slow', { key: fixed, at: minutes(-16) }, '400 RequestExpired'],
  ] as const)
    it(`${what}`, async () => expect(await codeOf(call)).to.equal(code));

  it('the end of a session', async () => {
    expect(await codeOf({ key: session, at: minutes(59) }, minutes(59))).to.equal('ok');
    expect(await codeOf({ key: session, at: minutes(60) }, minutes(60))).to.equal(
      '400 RequestExpired',
    );
  });
});
