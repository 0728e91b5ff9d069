import { backoffDelayMs, type Clock, sleep, StatusError, systemRandom } from 'kedge';
import type { LogLine, LogRequest, Runtime } from '../agent/index.js';
import type { ConnectedAgents } from '../agent-requests/connected-agents.js';
import type { RequestPlace } from '../agent-requests/remote-command.js';
import { remoteLog, remotePrevious } from '../agent-requests/remote-log.js';
import { containerOf, targetOf } from '../agent-requests/start-command.js';
import type { Instance } from '../instance/kind.js';
import { otherNodeOf } from '../node/other-node.js';
import { localLog, localPrevious } from '../agent-requests/local-log.js';

/** The sources of the log service. */
export interface LogSources {
  readonly runtimes: readonly Runtime[];
  /** The node of the runtimes. Absent: they are those of all nodes. */
  readonly node?: string;
  readonly agents: ConnectedAgents;
}

/** The request of a log, and its behaviour without the agent of another node. */
export interface LogReading {
  readonly request: LogRequest;
  /** Whether an agent that is not connected is an error: for a single instance that has not been read yet. */
  readonly fails: boolean;
  readonly clock: Clock;
}

/** A line of output, or a remark of Kedge in its place, which has no position. */
export type SourcedLine = LogLine | { readonly remark: string };

/** Delay before a followed log is opened again; it also waits until the agent is connected. */
const backoff = { baseMs: 200, maxMs: 5_000, jitter: 0.5 };
const lostReasons = ['AgentLost', 'AgentNotConnected', 'AgentSilent'];

function isLost(error: unknown): error is StatusError {
  return error instanceof StatusError && lostReasons.includes(error.reason);
}

/** The place of an instance on another node; undefined for one of this node. */
function placeOf(
  { node: here }: LogSources,
  instance: Instance,
): Omit<RequestPlace, 'signal'> | undefined {
  const node = otherNodeOf(instance, here);
  if (node === undefined) return undefined;
  const { metadata, namespace, name } = instance;
  const container = containerOf(instance);
  const remedy =
    container === undefined
      ? `read the directory instances/${metadata.uid} below the data directory of its agent`
      : `type: docker logs ${container}`;
  return { node, what: `the output of "${namespace}/${name}"`, remedy };
}

/**
 * The log of an instance, here or on another node. A followed log continues, after the last line that was read, when
 * the agent of its node is connected again. Another one ends with a remark if the agent is lost, unless `fails`.
 * @throws StatusError AgentNotConnected, AgentLost, AgentSilent (see `fails`), AgentBusy, RuntimeUnavailable
 */
export async function* logOf(
  sources: LogSources,
  instance: Instance,
  { request, fails, clock }: LogReading,
): AsyncIterable<SourcedLine> {
  const target = targetOf(instance);
  const place = placeOf(sources, instance);
  if (!place) {
    yield* localLog(sources.runtimes, target, request);
    return;
  }
  const { signal, follow } = request;
  let { after } = request;
  let wasRead = !fails;
  for (let failures = 0; ; failures += 1) {
    try {
      for await (const line of remoteLog(sources.agents, place, target, { ...request, after })) {
        failures = 0;
        wasRead = true;
        after = line.cursor;
        yield line;
      }
      return;
    } catch (error) {
      if (!isLost(error) || !wasRead) throw error;
      if (failures === 0) yield { remark: error.message };
      if (!follow) return;
    }
    await sleep(clock, backoffDelayMs(backoff, failures, systemRandom), signal);
    await sources.agents.connected(place.node, signal);
    if (signal.aborted) return;
  }
}

/** The output of the previous run of an instance; undefined if there is none. */
export function previousOf(
  sources: LogSources,
  instance: Instance,
  signal: AbortSignal,
): Promise<AsyncIterable<LogLine> | undefined> {
  const target = targetOf(instance);
  const place = placeOf(sources, instance);
  return place
    ? remotePrevious(sources.agents, { ...place, signal }, target)
    : localPrevious(sources.runtimes, target);
}
