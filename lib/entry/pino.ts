// The entry point `kedge/pino`. Its package is an optional peer, so its absence is reported first.
import { requirePeers } from '../base/peers.js';

requirePeers('kedge/pino', ['pino']);
export const { pinoLogger } = await import('../adapters/pino.js');
