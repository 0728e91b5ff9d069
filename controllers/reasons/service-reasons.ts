import { deletionOf } from './commands.js';
import { failed } from './instance-reasons.js';
import { stopService } from './node-reasons.js';
import { unmet } from './reason.js';
import { byKind, type Remedy, type RemedyOf, wait } from './remedy.js';
import type { About } from './world.js';

/** The remedy for a service whose instances report no problem. */
function instancesOf(about: About<'Service'>): Remedy {
  const { namespace, name } = about.object;
  return wait(
    `the instances of service ${namespace}/${name}`,
    'once they are ready',
    stopService(about),
    'to stop it',
  );
}

const ofService: RemedyOf = byKind({ Service: instancesOf }, (about) =>
  wait('its cause to be removed', 'afterwards', deletionOf(about), 'to delete it instead'),
);

/** Reasons of the condition of services, which are the phases of a service. */
export const serviceReasons = {
  Pending: unmet('no instance is ready yet', ofService),
  Deploying: unmet('instances are being replaced', ofService),
  Degraded: unmet('some instances are not ready, or surplus ones still exist', ofService),
  Failed: unmet(
    'the command ended with an exit code other than 0, or all instances of the service failed',
    byKind({ Instance: failed }, ofService),
  ),
} as const;
