import type { Command } from 'commander';
import { counted } from 'kedge/objects';
import { textOf } from 'kedge/rpc';
import { connect } from '../../connection/api.js';
import { withExamples } from '../../program/examples.js';
import { print } from '../../output/output.js';
import { addBackup } from './backup.js';
import { addAdoptRoot } from './adopt-root.js';
import { addOrphans } from './orphans.js';

async function rotateKeys(): Promise<void> {
  const client = await connect();
  try {
    const done = await client.call('AdminService.RotateKeys', {}, { timeoutMs: 3_600_000 });
    print(
      `${counted(Number(done.resealed), 'object was', 'objects were')} resealed with key ${textOf(done, 'keyId')}`,
    );
  } finally {
    client.close();
  }
}

/** `kedge admin adopt-root|backup|orphans|rotate-keys` */
export function addAdmin(program: Command): void {
  const admin = program.command('admin').description('administer the cluster');
  addBackup(admin);
  addAdoptRoot(admin);
  addOrphans(admin);
  const command = admin
    .command('rotate-keys')
    .description('reseal all secret values with another key-encryption key')
    .action(() => rotateKeys());
  withExamples(command, ['kedge admin rotate-keys', 'Without an interruption']);
}
