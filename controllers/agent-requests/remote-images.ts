import type { Readable } from 'node:stream';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import type { ImageAccess } from './image-access.js';
import { imagePageFields } from './image-pages.js';
import { type AgentCall, agentLost } from './agent-call.js';
import type { ConnectedAgents } from './connected-agents.js';
import type { RequestPlace } from './remote-command.js';

/** The answer of an agent in a field; other answers before it are given to `onOther`. */
async function answerIn(
  call: AgentCall,
  field: string,
  { begins }: { readonly begins: boolean },
  onOther: (answer: JsonObject) => void = () => undefined,
): Promise<JsonObject> {
  for await (const answer of call.answers({ begins })) {
    const found = answer[field];
    if (isJsonObject(found)) return found;
    onOther(answer);
  }
  throw agentLost(call.node);
}

/** Sends an archive with backpressure. */
async function sendArchive(call: AgentCall, tar: Readable): Promise<void> {
  for await (const piece of tar) await call.send({ data: (piece as Buffer).toString('base64') });
  await call.send({ dataEnd: true });
}

/** The images of another node, through its agent. */
export function remoteImages(
  agents: ConnectedAgents,
  place: Omit<RequestPlace, 'signal'>,
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
    list: (signal, page) =>
      called({ listImages: imagePageFields(page) }, signal, (call) =>
        answerIn(call, 'images', { begins: true }),
      ),
    prune: (signal, dryRun) =>
      called({ pruneImages: { dryRun } }, signal, (call) =>
        answerIn(call, 'pruned', { begins: false }),
      ),
    load: (tar, onText, signal) =>
      called({ loadImages: {} }, signal, async (call) => {
        // The caller knows why its archive broke off.
        sendArchive(call, tar).catch(() => call.close());
        const loaded = await answerIn(call, 'loaded', { begins: false }, (answer) => {
          const text = textOf(answer, 'progress');
          if (text !== '') onText(text);
        });
        return (Array.isArray(loaded.images) ? loaded.images : []).map(String);
      }),
  };
}
