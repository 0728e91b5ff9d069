/**
 * Commands inside running workloads.
 *
 * Guarantees: a command ends with its caller: it gets SIGHUP, and SIGKILL 2 seconds later.
 *
 * Errors: NotFound; InvalidArgument; FailedPrecondition (NotRunning, RuntimeUnavailable, ExecFailed); DeadlineExceeded
 * (ExecTimeout) after 30 seconds without a start; ResourceExhausted (TooManyCommands); Unavailable (Stopping). On
 * another node also those of agent-requests.
 *
 * Caveats:
 * - A server runs at most 128 commands at a time. An account has at most as many as remain free: 64 if no other account
 *   has any.
 * - A process whose parent has ended may survive the end of its command.
 */
export { execVerbs } from './verbs.js';
