import { expect } from 'chai';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { limits } from 'kedge';
import { readCastFiles } from './cast-file.js';

describe('a cast file', () => {
  let file: string;

  before(async () => {
    file = join(await mkdtemp(join(tmpdir(), 'kedge-cast-')), 'a.yaml');
  });
  after(() => rm(join(file, '..'), { recursive: true }));
  const refusal = async (text: string): Promise<string> => {
    await writeFile(file, text);
    return readCastFiles([file]).then(
      () => 'was read',
      (error: Error) => error.message.replace(file, 'F'),
    );
  };

  for (const [what, unit] of [
    ['lists', '- '],
    ['flow maps', '{'],
    ['flow lists', '['],
    ['keys', '? '],
    ['indented keys', 'a: {'],
  ] as const)
    it(`of 100,000 nested ${what} is refused with its line`, async () => {
      const text = `kind: Volume\n---\n${unit.repeat(100_000)}`;
      expect(await refusal(text)).to.match(
        /^F:3: is (nested|indented) .*objects have fewer levels$/,
      );
    });

  it('may contain a script with many brackets and spaces', async () => {
    const script = `      ${'[{'.repeat(500)}\n      ${' '.repeat(1_000)}x\n`;
    await writeFile(file, `service:\n  name: s\n  command:\n    - sh\n    - |\n${script}`);
    const [item] = await readCastFiles([file]);
    expect(item?.object.command).to.have.length(2);
  });

  it('that is larger than a request may be is refused before it is parsed', async () => {
    const bytes = limits.requestBytesMax + 1;
    expect(await refusal('#'.repeat(bytes))).to.contain(`F: has more than ${bytes - 1} bytes`);
  });

  it('that exists and can not be read is not reported as missing', async () => {
    const loop = join(file, '..', 'loop.yaml');
    await symlink(loop, loop);
    const failure = await readCastFiles([loop]).catch((error: unknown) => error);
    expect(failure).to.have.property('code', 'ELOOP');
    const missing = await readCastFiles([`${loop}-x`]).catch((error: unknown) => error);
    expect(missing).to.have.property('reason', 'FileNotFound');
  });

  it('that is not YAML is refused with the line and one description', async () => {
    expect(await refusal('kind: Volume\nname: [a\n')).to.match(/^F:\d: /);
    expect(await refusal('kind: Volume\nkind: Volume\n')).to.equal('F:2: Map keys must be unique');
  });
});
