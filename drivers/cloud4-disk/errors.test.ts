import { expect } from 'chai';
import { rowOf } from '@kedge/driver-sdk/provider';
import { cloud4Errors, operationError, refusalOf } from './errors.js';

describe("the refusals of cloud4-disk's provider", () => {
  for (const row of cloud4Errors)
    it(`${row.example.status} ${row.example.code} "${row.example.message}" is ${row.kind}`, () => {
      expect(rowOf(cloud4Errors, row.example)).to.equal(row);
      expect(row.source).not.to.equal('');
    });

  it('the first reason is the code, without reasons the status', () => {
    const errors = [{ domain: 'global', reason: 'notFound', message: 'm' }];
    const body = { error: { code: 404, message: 'gone', errors, status: 'NOT_FOUND' } };
    expect(refusalOf(404, body, '')).to.deep.equal({
      status: 404,
      code: 'notFound',
      message: 'gone',
    });
    const short = { error: { code: 401, message: 'no', status: 'UNAUTHENTICATED' } };
    expect(refusalOf(401, short, '').code).to.equal('UNAUTHENTICATED');
  });

  it('the page of a gateway is quoted without tags, and its 404 and 403 are not about disks', () => {
    const page = '<html><style>p {}</style><title>Error 404</title><p>not <b>here</b></html>';
    for (const status of [403, 404, 502]) {
      const refusal = refusalOf(status, undefined, page);
      expect(refusal.message).to.equal('Error 404 not here');
      expect(rowOf(cloud4Errors, refusal)?.kind).to.equal('Unavailable');
    }
  });

  it('403 for a rate, a quota or a disabled interface is not a missing permission', () => {
    const kindOf = (code: string, message: string) =>
      rowOf(cloud4Errors, { status: 403, code, message })?.kind;
    expect(kindOf('rateLimitExceeded', 'Rate Limit Exceeded')).to.equal('Throttled');
    expect(kindOf('quotaExceeded', "Quota 'DISKS_TOTAL_GB' exceeded.")).to.equal('QuotaExceeded');
    expect(kindOf('forbidden', 'Billing is disabled')).to.equal('PermissionDenied');
    expect(kindOf('forbidden', "Required 'compute.disks.get'")).to.equal('CredentialsRejected');
  });

  it('a failed operation has the message, the code and the remedy of its row', () => {
    const code = 'ZONE_RESOURCE_POOL_EXHAUSTED';
    const error = operationError({ status: 503, code, message: 'no room' }, 'operation-1');
    expect(error.kind).to.equal('QuotaExceeded');
    expect(error.retryElsewhere).to.equal(true);
    expect(error.message).to.contain('operation-1').and.contain(`no room (${code})`);
    expect(error.message).to.contain('use a class of another zone');
    const unknown = operationError({ status: 0, code: 'NEW_CODE', message: '' }, 'operation-2');
    expect(unknown.kind).to.equal('Unavailable');
  });
});
