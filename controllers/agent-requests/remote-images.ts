import type { Readable } from 'node:stream';
import type { Clock } from 'kedge';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import type { ImageAccess } from './image-access.js';
import { imagePageFields, pageOfAnswer } from './image-pages.js';
import { type AgentCall, agentLost, type AnswerPatience } from './agent-call.js';
import type { ConnectedAgents } from './connected-agents.js';
import type { RequestPlace } from './remote-command.js';
import { reportedWithinMs } from './reported-work.js';

/**
 * Time of a list, with the wait for the agent: below that of a caller, 30 s, and above that of the agent's engine, so
 * that the caller learns the cause.
 */
const listMs = 25_000;
/** Minimum of it for the answer of an agent that connected late. */
const listMsMin = 2_000;

/**
 * A load or a prune has no time limit. An agent of an earlier release does not report that it works, so it has more
 * time, which starts again with each piece of an archive that it takes.
 */
const work: AnswerPatience = { firstMs: 900_000, furtherMs: reportedWithinMs };

/** The answer of an agent in a field; other answers before it are given to `onOther`. */
async function answerIn(
  call: AgentCall,
  field: string,
  patience: AnswerPatience,
  onOther: (answer: JsonObject) => void = () => undefined,
): Promise<JsonObject> {
  for await (const answer of call.answers(patience)) {
    const found = answer[field];
    if (isJsonObject(found)) return found;
    onOther(answer);
  }
  throw agentLost(call.node);
}

async function sendArchive(call: AgentCall, tar: Readable): Promise<void> {
  for await (const piece of tar) await call.send({ data: (piece as Buffer).toString('base64') });
  await call.send({ dataEnd: true });
}

/** The images of another node, through its agent. */
export function remoteImages(
  agents: ConnectedAgents,
  { clock, ...place }: Omit<RequestPlace, 'signal'> & { readonly clock: Clock },
): ImageAccess {
  const called = async <T>(
    opening: JsonObject,
    signal: AbortSignal,
    work: (call: AgentCall) => Promise<T>,
  ): Promise<T> => {
    const call = await agents.open({ ...place, signal, type: 'image', opening });
    try {
      return await work(call);
    } finally {
      call.close();
    }
  };
  return {
    list: async (signal, page) => {
      const begun = clock.monotonic();
      const answer = await called({ listImages: imagePageFields(page) }, signal, (call) => {
        const leftMs = listMs - (clock.monotonic() - begun);
        return answerIn(call, 'images', { firstMs: Math.max(listMsMin, leftMs) });
      });
      return pageOfAnswer(answer, page);
    },
    prune: (signal, dryRun) =>
      called({ pruneImages: { dryRun } }, signal, (call) => answerIn(call, 'pruned', work)),
    load: (tar, onText, signal) =>
      called({ loadImages: {} }, signal, async (call) => {
        // The caller knows why its archive broke off.
        sendArchive(call, tar).catch(() => call.close());
        const loaded = await answerIn(call, 'loaded', work, (answer) => {
          const text = textOf(answer, 'progress');
          if (text !== '') onText(text);
        });
        return (Array.isArray(loaded.images) ? loaded.images : []).map(String);
      }),
  };
}
