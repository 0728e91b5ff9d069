import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const compiler = join(root, 'node_modules/typescript-7/bin/tsc');

/** A program that compiles only while the SDK has what the driver expects of it. */
const program = `
import * as sdk from '@aws-sdk/client-ec2';
import { actions, type SdkOptions } from '${join(root, 'drivers/dist/cloud3-block/sdk.js')}';

declare const options: SdkOptions;
const client = new sdk.EC2Client({ ...options, credentials: options.credentials });
const command = new sdk.DescribeVolumesCommand({ VolumeIds: ['vol-1'] });
const answer = await client.send(command, { abortSignal: new AbortController().signal });
const keys: { readonly accessKeyId: string; readonly secretAccessKey: string } =
  await client.config.credentials();
const names: readonly \`\${(typeof actions)[number]}Command\`[] = [];
const commands: readonly (keyof typeof sdk)[] = names;
export { answer, commands, keys };
`;

describe('the types of @aws-sdk/client-ec2', () => {
  it('have the part that driver cloud3-block uses', function () {
    this.timeout(600_000);
    try {
      createRequire(import.meta.url).resolve('@aws-sdk/client-ec2');
    } catch (error) {
      if (process.env['CI']) throw error;
      console.log('skipped: @aws-sdk/client-ec2 is not installed; npm test installs it');
      this.skip();
    }
    const folder = mkdtempSync(join(root, 'node_modules/.kedge-cloud3-types-'));
    try {
      writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
      const file = join(folder, 'program.ts');
      writeFileSync(file, program);
      const options = [
        '--strict',
        '--skipLibCheck',
        '--noEmit',
        '--types',
        'node',
        '--ignoreConfig',
      ];
      const modern = ['--target', 'es2023', '--module', 'nodenext'];
      const compile = [compiler, ...options, ...modern, file];
      const { stdout, status } = spawnSync(process.execPath, compile, {
        cwd: folder,
        encoding: 'utf8',
      });
      expect(stdout).to.equal('');
      expect(status).to.equal(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
