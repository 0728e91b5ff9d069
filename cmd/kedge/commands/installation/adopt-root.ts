import type { Command } from 'commander';
import { textOf } from 'kedge/rpc';
import { connect } from '../../connection/api.js';
import { print } from '../../output/output.js';
import { withExamples } from '../../program/examples.js';

async function adoptRoot(path: string): Promise<void> {
  const client = await connect();
  try {
    const done = await client.call('AdminService.AdoptStorageRoot', { path });
    const earlier = textOf(done, 'earlierClusterId') || 'no cluster';
    print(`${textOf(done, 'path')} now belongs to this cluster; before, to ${earlier}`);
    print('kedge admin orphans lists the volumes in it, with the commands that import them.');
  } finally {
    client.close();
  }
}

/** `kedge admin adopt-root PATH` */
export function addAdoptRoot(admin: Command): void {
  const command = admin
    .command('adopt-root')
    .argument('<path>', "[storage].localVolumeRoot of the daemon's node")
    .description(
      'take over the storage root of driver local from a cluster whose store was lost; its volumes can then be imported',
    )
    .action((path: string) => adoptRoot(path));
  withExamples(command, [
    'kedge admin adopt-root /var/lib/kedge/volumes',
    'After the store was lost, and a new one was created',
  ]);
}
