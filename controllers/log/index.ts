/** Logs of workloads, read and followed through their runtimes. */
export { logVerbs } from './verbs.js';
