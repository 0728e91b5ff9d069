import { messageForm } from '@kedge/driver-sdk/messages';

/** A workload could not be started; the reason follows. */
export const startRefused = messageForm("can't be started:");

/** The end of a run that the restart policy does not restart. */
export const notRestarted = messageForm('not restarted because of restartPolicy {restartPolicy}');

/** A node lacks the runtime of an instance. */
export const runtimeMissing = messageForm(
  'runtime {runtime} is not available on node {node}; it has: {runtimes[]}',
);

/** The node has no socket of a container engine. */
export const engineAbsent = messageForm("the container engine's socket {path} does not exist");

/** The node has a socket of a container engine that is stopped. */
export const engineStopped = messageForm("nothing answers at the container engine's socket {path}");

/** The engine did not continue a call. */
export const engineStuck = messageForm('the container engine made no progress');

/** The engine still creates or removes a container of an earlier attempt. */
export const containerUnsettled = messageForm('container {container} is not ready to be started');

/** A process of a container that the engine has no record of. */
export const processUnrecorded = messageForm(
  'process {pid} of container {container} was started by an engine that was killed meanwhile',
);

/** A container that Kedge did not create has the name of a run's container. */
export const containerNameTaken = messageForm(
  'the name of container {container} is in use by a container that Kedge did not create',
);

/** A process that SIGKILL does not end: it is blocked in the kernel. */
export const processUnkillable = messageForm('process {pid} does not end after SIGKILL');

/** A container whose process SIGKILL does not end. */
export const containerUnkillable = messageForm('container {container} does not end after SIGKILL');

/** A network that Kedge did not create has the name of the network of the cluster. */
export const networkForeign = messageForm(
  'network {network} of the container engine was not created by this cluster',
);

/** A user of the engine paused the container of a run. */
export const containerPaused = messageForm('docker unpause {container} continues it');

/** A directory of the node was replaced by a link. */
export const sourceMoved = messageForm('its source {source} leads to {target}');

/** The container engine does not have a mount of kedged. */
export const mountUnseen = messageForm(
  'the container engine does not see what is mounted at {source}',
);

/** An image could not be pulled; the reason follows. */
export const imageRefused = messageForm("image {image} can't be pulled");

/** An image is missing on the node, and must not be pulled. */
export const imageAbsent = messageForm(
  'image {image} is not on the node of the instance, and imagePull is never',
);

/** An image was removed from the node before its container was created. */
export const imageRemoved = messageForm('image {image} was pulled, but was removed again');

/** Limits of a workload that the node does not support. */
export const limitsRefused = messageForm("can't be enforced by this kedged");

/** Limits of a running container that the kernel of its node does not have. */
export const limitsUnsupported = messageForm(
  'are not enforced, because the kernel of the node does not have them',
);

/** The container engine does not enforce a limit that the workload requires. */
export const strictLimitsRefused = messageForm('and resources.strict requires it');

/** The user of a workload does not exist. */
export const userMissing = messageForm('user {user} does not exist on the node of the instance');

/** The user of a workload needs rights that kedged lacks. */
export const userRefused = messageForm("user {user} can't be used");

/** The capabilities of a workload need rights that kedged lacks. */
export const capabilitiesRefused = messageForm("capabilities {capabilities[]} can't be granted");

/** A missing working directory. The text is that of the script `enter.sh`; its test compares the two. */
export const workingDirectoryMissing = messageForm(
  "its working directory {path} does not exist, or can't be entered",
);

/** A program of the node that does not exist. The text is that of the script `enter.sh`; its test compares the two. */
export const commandMissing = messageForm('command {file} does not exist');

/** A program that no directory of PATH has. The text is that of the script `enter.sh`; its test compares the two. */
export const commandNotFound = messageForm('command {file} is not found in its PATH');

/** A directory in place of a program. The text is that of the script `enter.sh`; its test compares the two. */
export const commandIsDirectory = messageForm('command {file} is a directory');

/**
 * A command without the permission to execute it. The text is that of the script `enter.sh`; its test compares the two.
 */
export const commandNotExecutable = messageForm('command {file} is not executable');
