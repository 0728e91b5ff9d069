import { expect } from 'chai';
import { rowOf } from '@kedge/driver-sdk/provider';
import { cloud3Errors } from './errors.js';

describe("the refusals of cloud3-block's provider", () => {
  for (const row of cloud3Errors)
    it(`${row.example.status} ${row.example.code} is ${row.kind}`, () => {
      expect(rowOf(cloud3Errors, row.example)).to.equal(row);
      expect(row.source).not.to.equal('');
    });
});
