// The entry point `kedge/pino`. Its package is an optional peer, so its absence is reported first.
import { demandPeers } from '../base/peers.js';

demandPeers('kedge/pino', ['pino']);
export const { pinoLogger } = await import('../adapters/pino.js');
