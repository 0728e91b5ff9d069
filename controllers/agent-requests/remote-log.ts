import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import type { LogCursor, LogLine, LogRequest } from '../agent/index.js';
import type { CommandTarget } from './start-command.js';
import type { AgentCall } from './agent-call.js';
import type { ConnectedAgents } from './connected-agents.js';
import type { RequestPlace } from './remote-command.js';

/** The numbers of a cursor on the wire. */
export function cursorOf(value: unknown): LogCursor {
  const numbers = isJsonObject(value) ? value.numbers : undefined;
  return (Array.isArray(numbers) ? numbers : []).map(Number);
}

function lineOf(value: JsonObject): LogLine {
  const time = textOf(value, 'time');
  return {
    content: textOf(value, 'content'),
    cursor: cursorOf(value.cursor),
    ...(time !== '' && { time }),
  };
}

async function* linesOf(
  call: AgentCall,
  answers: AsyncIterator<JsonObject>,
): AsyncIterable<LogLine> {
  try {
    for (;;) {
      const next = await answers.next();
      if (next.done === true || next.value.end === true) return;
      if (isJsonObject(next.value.line)) yield lineOf(next.value.line);
    }
  } finally {
    call.close();
  }
}

/** Opens a log. Undefined if the agent has none. */
async function opened(
  agents: ConnectedAgents,
  place: RequestPlace,
  readLog: JsonObject,
): Promise<AsyncIterable<LogLine> | undefined> {
  const call = await agents.open({ ...place, type: 'log', opening: { readLog } });
  const answers = call.answers()[Symbol.asyncIterator]();
  let found = false;
  try {
    const first = await answers.next();
    found = first.done !== true && first.value.begun === true;
    return found ? linesOf(call, answers) : undefined;
  } finally {
    if (!found) call.close();
  }
}

/**
 * The log of a workload of another node. Ends without an error when the signal aborts.
 * @throws StatusError as the agent reported it, AgentNotConnected, AgentLost, AgentSilent, AgentBusy
 */
export async function* remoteLog(
  agents: ConnectedAgents,
  place: Omit<RequestPlace, 'signal'>,
  target: CommandTarget,
  { tail, follow, after, since, until, signal }: LogRequest,
): AsyncIterable<LogLine> {
  try {
    const lines = await opened(
      agents,
      { ...place, signal },
      {
        target: { ...target },
        ...{ tail, follow },
        ...(after && { after: { numbers: after.map(String) } }),
        ...(since !== undefined && { since: `${Math.trunc(since)}` }),
        ...(until !== undefined && { until: `${Math.trunc(until)}` }),
      },
    );
    if (lines) yield* lines;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** The output of the previous run of a workload of another node; undefined if there is none. */
export function remotePrevious(
  agents: ConnectedAgents,
  place: RequestPlace,
  target: CommandTarget,
): Promise<AsyncIterable<LogLine> | undefined> {
  return opened(agents, place, { target: { ...target }, previous: true });
}
