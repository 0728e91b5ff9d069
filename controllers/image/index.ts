/**
 * Images of containers on the nodes.
 *
 * Guarantees: a prune removes only images that Kedge pulled or loaded, and that no instance and no container uses.
 *
 * Errors: NotFound, InvalidArgument, FailedPrecondition (RuntimeUnavailable, EngineRefused), ResourceExhausted
 * (TooManyLoads), DeadlineExceeded (RequestTimeout) if an upload pauses for 2 minutes. On another node also those of
 * agent-requests.
 *
 * Caveats: a node has at most 2 loads at a time.
 */
export { imageVerbs } from './verbs.js';
