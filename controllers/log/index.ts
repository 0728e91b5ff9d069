/**
 * Logs of workloads, read and followed through their runtimes.
 *
 * Ordering: lines of one instance are in the order of their output. Those of several instances are in the order of their times, except in a followed log.
 *
 * Guarantees: a line of the present log has a position. A reader that resumes there gets the lines after it, or a line
 * that reports lost output. A followed log continues when the agent of its node is connected again.
 *
 * Errors: NotFound (also NoPreviousRun), InvalidArgument, FailedPrecondition (RuntimeUnavailable), Unavailable
 * (Stopping). On another node also those of agent-requests.
 *
 * Caveats:
 * - Output that was rotated away is lost. A line says so.
 * - A line of a process has the time of the next record of the log's size, not that of its write.
 */
export { logVerbs } from './verbs.js';
