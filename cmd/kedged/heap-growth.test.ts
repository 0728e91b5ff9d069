import { spawnSync } from 'node:child_process';
import { expect } from 'chai';

describe('growth of the heap', () => {
  it('is a flag that this Node.js knows', () => {
    const module = new URL('heap-growth.js', import.meta.url).href;
    const program = `(await import(${JSON.stringify(module)})).growHeapFreely()`;
    const args = ['--input-type=module', '--eval', program];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(stderr, 'V8 reports unknown flags there').to.equal('');
    expect(status).to.equal(0);
  });
});
