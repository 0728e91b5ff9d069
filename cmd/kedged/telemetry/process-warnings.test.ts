import { once } from 'node:events';
import { expect } from 'chai';
import { logProcessWarnings } from './process-warnings.js';
import type { Logger } from 'kedge';

describe('the warnings of packages', () => {
  let before: NodeJS.WarningListener[];
  beforeEach(() => {
    before = process.listeners('warning');
  });
  afterEach(() => {
    process.removeAllListeners('warning');
    for (const listener of before) process.on('warning', listener);
  });

  it('are logged on one line, each text once, and not printed by other listeners', async () => {
    const lines: unknown[] = [];
    const logger = {
      warn: (message: string, fields: object) => lines.push([message, fields]),
    } as unknown as Logger;
    logProcessWarnings(logger);
    expect(process.listenerCount('warning')).to.equal(1);
    process.emitWarning('use a newer\n  release', 'SomeWarning');
    process.emitWarning('use a newer\n  release', 'SomeWarning');
    const warned = once(process, 'warning');
    process.emitWarning('another', 'SomeWarning');
    await warned;
    await new Promise((resolve) => setImmediate(resolve));
    expect(lines).to.deep.equal([
      ['use a newer release', { name: 'SomeWarning' }],
      ['another', { name: 'SomeWarning' }],
    ]);
  });
});
