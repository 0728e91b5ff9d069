import { expect } from 'chai';
import { StatusError } from '../../base/index.js';
import type { JsonObject } from '../../rpc/index.js';
import { wholeList } from './whole-list.js';

function outOfRange(reason: string): StatusError {
  return new StatusError({ code: 'OutOfRange', reason, message: reason });
}

/** Pages of a list that changes at each restart. The third page of a round fails with its error in `broken`, if any. */
function pages(broken: readonly StatusError[]) {
  const asked: string[] = [];
  let round = 0;
  const fetch = (pageToken: string): Promise<JsonObject> => {
    asked.push(pageToken);
    if (pageToken === '') round += 1;
    const error = broken[round - 1];
    const [, at = '0'] = pageToken.split(':');
    if (error && at === '2') return Promise.reject(error);
    const next = Number(at) + 1;
    return Promise.resolve({
      items: [`${round}:${at}`],
      resourceVersion: `${round}.store`,
      nextPageToken: next < 4 ? `${round}:${next}` : '',
    });
  };
  return { asked, fetch };
}

describe('a list of all pages', () => {
  it('drops the fetched pages and restarts when its page token has expired', async () => {
    const { fetch, asked } = pages([outOfRange('PageTokenExpired')]);
    const { items, cursor } = await wholeList(fetch);
    expect(items).to.deep.equal(['2:0', '2:1', '2:2', '2:3']);
    expect(cursor).to.equal('2.store');
    expect(asked).to.deep.equal(['', '1:1', '1:2', '', '2:1', '2:2', '2:3']);
  });

  it('restarts only once, and not after other errors', async () => {
    const expired = outOfRange('PageTokenExpired');
    const twice = pages([expired, expired]);
    expect(await wholeList(twice.fetch).catch((error: unknown) => error)).to.equal(expired);
    const compacted = outOfRange('Compacted');
    const other = pages([compacted]);
    expect(await wholeList(other.fetch).catch((error: unknown) => error)).to.equal(compacted);
    expect(other.asked.filter((token) => token === '')).to.have.length(1);
  });
});
