import { expect } from 'chai';
import { rowOf } from '@kedge/driver-sdk/provider';
import { cloud2Errors } from './errors.js';

describe("the refusals of cloud2-volume's provider", () => {
  for (const row of cloud2Errors)
    it(`${row.example.code} "${row.example.message}" is ${row.kind}`, () => {
      expect(rowOf(cloud2Errors, row.example)).to.equal(row);
      expect(row.source).not.to.equal('');
    });
});
