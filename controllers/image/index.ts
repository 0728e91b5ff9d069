/** Images of containers on the node of the daemon. */
export { imageVerbs } from './verbs.js';
