import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The folder of the scripts that start workloads: beside the code in a package of both programs, otherwise the source
 * folder.
 */
export const [scripts = ''] = [
  './supervisor',
  '../../../agent/supervisor',
  '../../controllers/agent/supervisor',
]
  .map((folder) => fileURLToPath(new URL(folder, import.meta.url)))
  .filter((path) => existsSync(join(path, 'supervise.sh')));
