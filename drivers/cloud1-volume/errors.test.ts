import { expect } from 'chai';
import { rowOf } from '@kedge/driver-sdk/provider';
import { cloud1Errors } from './errors.js';

describe("the refusals of cloud1-volume's provider", () => {
  for (const row of cloud1Errors)
    it(`${row.example.status} "${row.example.message}" is ${row.kind}`, () => {
      expect(rowOf(cloud1Errors, row.example)).to.equal(row);
      expect(row.source).not.to.equal('');
    });

  it('403 for a quota is not a missing scope', () => {
    const quota = { status: 403, code: 'forbidden', message: 'volume limit exceeded' };
    expect(rowOf(cloud1Errors, quota)?.kind).to.equal('QuotaExceeded');
    const scope = { status: 403, code: 'forbidden', message: 'You do not have access' };
    expect(rowOf(cloud1Errors, scope)?.kind).to.equal('CredentialsRejected');
  });
});
