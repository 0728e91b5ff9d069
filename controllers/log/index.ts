/** Logs of workloads, read and followed from where their runtime keeps them. */
export { logVerbs } from './verbs.js';
