import { messageForm } from './message-form.js';

/** The beginning of an error about a host path. */
export const hostPathRefused = messageForm('hostPath {path}');

/** The error for a host path that does not exist and is not to be created. */
export const hostPathMissing = messageForm('hostPath {path} does not exist');

/** The Debian packages of the programs that a node lacks. */
export const programsMissing = messageForm('(package {packages[]} on Debian and Ubuntu)');
