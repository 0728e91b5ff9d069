import type { KindApi } from '../api/kind-entry.js';
import { nodeController } from './controller.js';
import type { Node } from './kind.js';
import { nodeVerbs } from './verbs.js';

/** The API of the kind Node. */
export const nodeApi: KindApi<Node> = {
  verbs: (parts, { drivers }) => nodeVerbs(parts, drivers),
  controllers: (options) => [nodeController(options)],
};
