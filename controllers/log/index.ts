/** Logs of workloads, read and followed from where their runtime keeps them. */
export { type LogOptions, readLines } from './log-reader.js';
export { type LogVerbOptions, logVerbs } from './verbs.js';
