import { expect } from 'chai';
import { stopMessage } from './instance-teardown.js';

describe('the message of a stop in progress', () => {
  for (const [sent, message] of [
    ['SIGTERM', 'SIGTERM sent; SIGKILL follows after 20 s'],
    ['SIGQUIT', 'SIGQUIT sent; SIGKILL follows after 20 s'],
    ['SIGKILL', 'SIGKILL sent; its processes have not ended yet'],
    [undefined, 'it is stopped once its start has ended'],
  ] as const)
    it(`names ${sent ?? 'no signal'}`, () => {
      expect(stopMessage(sent, 20)).to.equal(message);
    });
});
