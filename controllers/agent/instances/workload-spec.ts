import type { Instance, InstanceHostPort } from '../../instance/kind.js';
import { limitsOf, takenPorts } from '../../resources/index.js';
import type { WorkloadSpec, WorkloadState } from '../runtime/runtime.js';

/** The specification of the workload of an instance. */
export function specOf(
  { metadata, namespace, name, service, template }: Instance,
  inputs: Pick<WorkloadSpec, 'env' | 'mounts' | 'pinnedImage'>,
): WorkloadSpec {
  const { image, imagePull, workingDir, user, capabilities, network, init, resources } = template;
  return {
    id: metadata.uid,
    namespace,
    name,
    service,
    ...(image && { image }),
    ...(imagePull && { imagePull }),
    command: template.command ?? [],
    args: template.args ?? [],
    ...(workingDir && { workingDir }),
    ...(user && { user }),
    ...(capabilities && { capabilities }),
    ...(network && { network }),
    ports: takenPorts(template),
    ...(init !== undefined && { init }),
    limits: limitsOf(template),
    ...(resources?.strict && { strictLimits: true }),
    ...inputs,
  };
}

/**
 * The ports of the node that lead to a running workload: ports that the engine publishes, or its own on the host
 * network.
 */
export function hostPortsOf(
  { template }: Pick<Instance, 'template'>,
  { published }: Extract<WorkloadState, { state: 'running' }>,
): readonly InstanceHostPort[] {
  return takenPorts(template).map((taken) => {
    const found = published?.find(
      ({ port, protocol }) => port === taken.port && protocol === taken.protocol,
    );
    return { ...taken, ...(found && { address: found.address }) };
  });
}
