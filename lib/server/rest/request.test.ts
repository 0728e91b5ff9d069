import { expect } from 'chai';
import type { StatusError } from '../../base/index.js';
import { declareKind, list, string } from '../../object/index.js';
import { methodTable } from '../../rpc/index.js';
import { describeKinds } from '../api/describe-kinds.js';
import { requestFromHttp } from './request.js';

describe('a query parameter', () => {
  it('that is malformed, repeated or unknown is refused with the rule', () => {
    const lamp = declareKind({
      kind: 'Lamp',
      plural: 'lamps',
      scope: 'Namespaced',
      fields: { rooms: list(string()) },
    });
    const { schemas, packageName, kinds } = describeKinds('home.v1', [lamp]);
    const methods = methodTable(
      schemas,
      packageName,
      kinds.map((each) => each.kind),
    );
    const refusal = (id: string, query: Record<string, string | string[]>): string => {
      const method = methods.find((each) => each.id === `LampService.${id}`);
      if (!method) throw new TypeError(id);
      try {
        requestFromHttp(method, { params: {}, query, body: undefined });
        return '';
      } catch (error) {
        return (error as StatusError).violations.map((v) => `${v.field} ${v.description}`).join();
      }
    };
    expect(refusal('List', { limit: 'ten' })).to.equal('limit "ten" must be a whole number');
    expect(refusal('Delete', { dryRun: '1' })).to.equal('dryRun "1" must be true or false');
    expect(refusal('List', { limit: ['1', '2'] })).to.equal(
      'limit is given more than once; give it once',
    );
    expect(refusal('List', { size: '1' })).to.equal(
      'size is not a query parameter of this path; omit it',
    );
    expect(refusal('List', { limit: '10' })).to.equal('');
  });
});
