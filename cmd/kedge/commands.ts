import type { Command } from 'commander';
import { addAuth } from './commands/access/auth.js';
import { addContext } from './commands/access/context.js';
import { addLogin } from './commands/access/login.js';
import { addSecret } from './commands/access/secret.js';
import { addToken } from './commands/access/token.js';
import { addUser } from './commands/access/user.js';
import { addWhoami } from './commands/access/whoami.js';
import { addAdmin } from './commands/installation/admin.js';
import { addCompletion } from './commands/installation/completion.js';
import { addStatus } from './commands/installation/status.js';
import { addVersion } from './commands/installation/version.js';
import { addCast } from './commands/objects/cast.js';
import { addCreate } from './commands/objects/create.js';
import { addDelete } from './commands/objects/delete.js';
import { addDescribe } from './commands/objects/describe.js';
import { addDiff } from './commands/objects/diff.js';
import { addEdit } from './commands/objects/edit.js';
import { addAnnotate, addLabel } from './commands/objects/label.js';
import { addPatch } from './commands/objects/patch.js';
import { addWait } from './commands/objects/wait.js';
import { addWhy } from './commands/objects/why.js';
import { addScale } from './commands/workloads/scale.js';
import { addExplain } from './commands/objects/explain.js';
import { addGet } from './commands/objects/get.js';
import { addDriver } from './commands/storage/driver.js';
import { addSnapshot } from './commands/storage/snapshot.js';
import { addStorageClass } from './commands/storage/storage-class.js';
import { addVolume } from './commands/storage/volume.js';
import { addEvents } from './commands/workloads/events.js';
import { addExec } from './commands/workloads/exec.js';
import { addHealth } from './commands/workloads/health.js';
import { addImage } from './commands/workloads/image.js';
import { addLogs } from './commands/workloads/logs.js';
import { addRestart } from './commands/workloads/restart.js';

/** Every command of the program. A new command is a file of its own and a line here. */
export const commands: readonly ((program: Command) => void)[] = [
  addAdmin,
  addAnnotate,
  addAuth,
  addCast,
  addCompletion,
  addContext,
  addCreate,
  addDelete,
  addDescribe,
  addDiff,
  addDriver,
  addEdit,
  addEvents,
  addExec,
  addExplain,
  addGet,
  addHealth,
  addImage,
  addLabel,
  addLogin,
  addLogs,
  addPatch,
  addRestart,
  addScale,
  addSecret,
  addSnapshot,
  addStatus,
  addStorageClass,
  addToken,
  addUser,
  addVersion,
  addVolume,
  addWait,
  addWhoami,
  addWhy,
];
