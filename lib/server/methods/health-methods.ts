import { type Clock, sleep, StatusError } from '../../base/index.js';
import { type JsonObject, textOf } from '../../rpc/index.js';
import type { CustomMethod } from '../api/call.js';

/** Interval at which a Watch checks for a changed answer. */
const pollMs = 2_000;

/** Options of the health service. */
export interface HealthOptions {
  /** Full names of the services that are served. */
  readonly services: () => readonly string[];
  readonly serving: () => boolean;
  readonly clock: Clock;
}

/** Returns the methods of the gRPC health checking protocol. They need a token. */
export function healthMethods(options: HealthOptions): readonly CustomMethod[] {
  const statusOf = (service: string): string => {
    if (service !== '' && !options.services().includes(service)) return 'SERVICE_UNKNOWN';
    return options.serving() ? 'SERVING' : 'NOT_SERVING';
  };
  async function* watch(request: JsonObject, signal: AbortSignal): AsyncIterable<JsonObject> {
    const service = textOf(request, 'service');
    let reported = '';
    while (!signal.aborted) {
      const status = statusOf(service);
      if (status !== reported) yield { status };
      reported = status;
      await sleep(options.clock, pollMs, signal);
    }
  }
  return [
    {
      id: 'Health.Check',
      access: { type: 'authenticated', reads: true },
      handler: {
        type: 'unary',
        call: (_context, request) => {
          const status = statusOf(textOf(request, 'service'));
          if (status !== 'SERVICE_UNKNOWN') return Promise.resolve({ status });
          return Promise.reject(
            new StatusError({
              code: 'NotFound',
              reason: 'ServiceUnknown',
              message: `${textOf(request, 'service')} is not a service of this server; omit it to check all services`,
            }),
          );
        },
      },
    },
    {
      id: 'Health.Watch',
      access: { type: 'authenticated', reads: true },
      handler: {
        type: 'stream',
        call: ({ signal }, request) => watch(request, signal),
      },
    },
  ];
}
