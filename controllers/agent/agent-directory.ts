import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DirectoryLock, Random } from 'kedge';
import { makeDirectory, replaceFile } from '@kedge/driver-sdk';
import type { AgentLife } from '../node/index.js';
import { bootIdOfKernel } from './runtime/boot.js';

/** Dependencies of {@link openAgentDirectory}. */
export interface AgentDirectoryOptions {
  readonly directory: string;
  /** Locks a directory for this process. */
  readonly lock: (directory: string) => Promise<DirectoryLock>;
  readonly random: Random;
  /** Reads the boot id of the kernel: a lock covers only processes of one kernel. Default: that of this machine. */
  readonly bootId?: () => Promise<string>;
}

/** The directory of an agent in a separate process, locked by this process. */
export interface AgentDirectory {
  readonly life: AgentLife;
  release(): Promise<void>;
}

const idFile = 'agent-id';

/** Returns a text that identifies the directory on this boot; a copy has another device, inode or boot id. */
async function placeOf(directory: string, bootId: string): Promise<string> {
  const { dev, ino } = await stat(directory, { bigint: true });
  return `${bootId} ${dev}:${ino}`;
}

async function readId(file: string, place: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  });
  const [id = '', ...validIn] = text.trim().split(' ');
  return id !== '' && validIn.join(' ') === place ? id : undefined;
}

/**
 * Creates the directory of an agent if it is missing, and locks it for this process. The ids of processes with this
 * directory share a prefix during one boot. Since only one of them runs at a time, all other ids with the prefix belong
 * to ended processes.
 * @throws StatusError FailedPrecondition (DirectoryLocked) while another process holds the lock
 */
export async function openAgentDirectory(options: AgentDirectoryOptions): Promise<AgentDirectory> {
  const { directory, lock, random, bootId = bootIdOfKernel } = options;
  await makeDirectory(directory, 0o700);
  const held = await lock(directory);
  try {
    const file = join(directory, idFile);
    const place = await placeOf(directory, await bootId());
    let id = await readId(file, place);
    if (id === undefined) {
      id = random.uuid();
      await replaceFile(file, `${id} ${place}\n`);
    }
    const prefix = `${id}/`;
    return {
      life: {
        id: `${prefix}${random.uuid()}`,
        hasEnded: (other) => other.startsWith(prefix),
      },
      release: () => held.release(),
    };
  } catch (error) {
    await held.release();
    throw error;
  }
}
