import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The folder of the scripts that start workloads: beside the bundled code in the Debian package, otherwise in the source
 * folder of the agent. Empty if there is none.
 */
export const [scripts = ''] = [
  './supervisor',
  '../../../agent/supervisor',
  '../../controllers/agent/supervisor',
]
  .map((folder) => fileURLToPath(new URL(folder, import.meta.url)))
  .filter((path) => existsSync(join(path, 'supervise.sh')));
