import { spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from 'kedge/testing';
import type { TestDaemon } from '../acceptance/daemon.js';

/** The time for which a stop fails, seconds. */
const seconds = 30;

/**
 * Waits until the only process of a service runs, and makes it unkillable for a while: process 1 of its pid namespace
 * ends once all processes of the namespace were reaped, and one of them has a parent that does not reap it.
 */
export async function makeUnkillable(daemon: TestDaemon, namespace: string): Promise<void> {
  const pid = await eventually(`the process of ${namespace}`, async () => {
    const { body } = await daemon.rest('GET', `/v1/namespaces/${namespace}/instances/web-0`);
    if (body['status'] !== 'Running') return undefined;
    const { uid } = body['metadata'] as { readonly uid: string };
    const folder = join(daemon.data, 'instances', uid);
    const [run = ''] = (await readdir(folder)).filter((name) => name.startsWith('run-'));
    const [first = ''] = (await readFile(join(folder, run, 'pid'), 'utf8')).split(' ');
    return first === '' ? undefined : first;
  });
  const user = process.getuid?.() === 0 ? [] : ['--user', '--preserve-credentials'];
  const script = `sleep ${2 * seconds} & exec sleep ${seconds}`;
  const child = spawn(
    'nsenter',
    [...user, '--pid', '--no-fork', '--target', pid, 'sh', '-c', script],
    { stdio: 'ignore', detached: true },
  );
  child.unref();
}
