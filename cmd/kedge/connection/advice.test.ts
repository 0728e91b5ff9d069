import { expect } from 'chai';
import type { StatusCode } from 'kedge';
import { adviceOn, causeIn } from './advice.js';

const called = { server: 'host:1', installation: { kedge: 'kedge', start: 'npm start' } };
const advice = (message: string, code: StatusCode = 'Unavailable', reason: string = code) =>
  adviceOn({ code, reason, message }, called);

describe('what a command says about a call that did not arrive', () => {
  it('is the cause, without the words around it', () => {
    const wrapped = (cause: string): string =>
      `No connection established. Last error: ${cause}. Resolution note: `;
    expect(causeIn(wrapped('Error: connect ECONNREFUSED 127.0.0.1:1'))).to.equal(
      'no connection: connect ECONNREFUSED 127.0.0.1:1',
    );
    expect(causeIn('Connection dropped')).to.equal('Connection dropped');
  });

  it('is where to look: the daemon, its other port, the name, a proxy', () => {
    expect(advice('connect ECONNREFUSED')).to.equal(
      'Is kedged running at host:1? Start it with: npm start',
    );
    expect(advice('Protocol error')).to.contain('is not the gRPC port').and.contain('7863');
    expect(advice('Name resolution failed for target dns:host')).to.contain(
      'set the server to HOST:PORT',
    );
    expect(advice('Received HTTP status code 404', 'Unimplemented')).to.contain('http_proxy');
  });

  it('is how to get a token that is good', () => {
    expect(advice('has expired', 'Unauthenticated', 'InvalidToken')).to.contain('kedge login');
    // The message already says so.
    expect(advice('no token is stored', 'Unauthenticated', 'NoContext')).to.equal(undefined);
  });

  it('is nothing where the server said what is wrong', () => {
    expect(advice('the disk is full', 'Unavailable', 'DiskFull')).to.equal(undefined);
    expect(advice('does not exist', 'NotFound')).to.equal(undefined);
  });
});
