import { expect } from 'chai';
import { invalid, statusCodes, StatusError } from '../base/index.js';
import { decodeStatus, encodeStatus, headerSized } from './index.js';

describe('errors over gRPC', () => {
  it('keep reason, violations and retry delay over gRPC', () => {
    const error = new StatusError({
      code: 'InvalidArgument',
      reason: 'ValidationFailed',
      message: 'bad',
      violations: [{ field: 'a.b', description: 'is bad' }],
      resource: { kind: 'Lamp', namespace: 'x', name: 'y' },
      retryAfterMs: 1_500,
    });
    const back = decodeStatus(statusCodes.InvalidArgument, 'bad', encodeStatus(error));
    expect(back.code).to.equal('InvalidArgument');
    expect(back.reason).to.equal('ValidationFailed');
    expect(back.violations).to.deep.equal(error.violations);
    expect(back.retryAfterMs).to.equal(1_500);
  });

  it('an error of any size fits into the headers of a gRPC answer', () => {
    const long = '\u20ac'.repeat(100_000);
    for (const violations of [
      [{ field: long, description: long }],
      Array.from({ length: 5_000 }, (_, n) => ({ field: `data.k${n}`, description: 'is wrong' })),
    ]) {
      const error = headerSized(
        new StatusError({
          code: 'InvalidArgument',
          reason: 'ValidationFailed',
          message: long,
          violations,
          resource: { kind: 'Lamp', namespace: long, name: long },
        }),
      );
      const bytes = Buffer.from(encodeStatus(error)).toString('base64').length;
      expect(bytes + encodeURIComponent(error.message).length).to.be.below(16_384);
      expect(error.message).to.match(/^\u20ac+\.\.\.$/);
      expect([error.code, error.reason]).to.deep.equal(['InvalidArgument', 'ValidationFailed']);
      expect(error.violations.length).to.be.at.least(1);
    }
    const small = invalid([{ field: 'a', description: 'b' }]);
    expect({ ...headerSized(small), cause: undefined }).to.deep.equal({
      ...small,
      cause: undefined,
    });
  });
});
