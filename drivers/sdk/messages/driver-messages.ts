import { messageForm } from './message-form.js';

/** The beginning of an error about a host path. */
export const hostPathRefused = messageForm('hostPath {path}');

/** The error for a host path that does not exist and is not to be created. */
export const hostPathMissing = messageForm('hostPath {path} does not exist');

/** The beginning of an error about a parameter. */
export const parameterRefused = messageForm('parameter {key}: ');

/**
 * The cause of a call without a valid credential: the class gives none, and the node gets none. Either nothing is sent to
 * the provider, or the provider refused the ended credential that the node had. So the call did nothing.
 */
export const credentialAbsent = messageForm('the class has no {key}, and ');

/** The remedy of an error about a parameter that the provider refuses. */
export const parameterToSet = messageForm('set parameter {key} to ');

/** The end of what only root can do. */
export const rootNeeded = messageForm('needs a kedged that runs as root');

/** The Debian packages of the programs that a node lacks. */
export const programsMissing = messageForm('(package {packages[]} on Debian and Ubuntu)');

/** The end of an error for an optional package that is not installed, with the command as it is typed in a shell. */
export const packageMissing = {
  format: (command: string): string => `which is not installed; run: ${command}`,
  /** Returns the command in a message; undefined without one. */
  commandIn: (message: string): string | undefined =>
    /which is not installed; run: (npm install(?: --prefix (?:'(?:[^']|'\\'')*'|[\w./:@%+,-]+))? [@\w./-]+@\d[-.\w]*)/.exec(
      message,
    )?.[1],
} as const;

/** The provider does not permit a look at an operation, so that its outcome is unknown; its refusal follows. */
export const operationUnobserved = messageForm("can't be observed:");

/** A provider, or a server in its place, gave an answer that is not of its API; the details follow. */
export const answerUnreadable = messageForm("the answer can't be read:");
