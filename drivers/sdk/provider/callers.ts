import type { CallContext, Parameters, ProvisionResult } from '../contract/driver.js';

import type { ClassRequest } from '../contract/provider-report.js';
import { bytesOf } from './provider-calls.js';

/** The `about` of calls for a class. They are not repeated by themselves. */
export const classCalls = 'check';

/** The context of the provider calls within one driver call, for providers with one token. */
export interface Caller {
  readonly token: string;
  /** Uid of the volume or snapshot, for the call journal; {@link classCalls} for calls for a class. */
  readonly about: string;
  readonly signal: AbortSignal;
}

/** Returns functions that make the {@link Caller} of a request with the token that `tokenOf` finds. */
export function callersWith(tokenOf: (parameters: Parameters) => string): {
  readonly callerOf: (request: CallContext) => Caller;
  readonly classCallerOf: (request: ClassRequest) => Caller;
} {
  return {
    callerOf: ({ parameters, volume, signal }) => ({
      token: tokenOf(parameters),
      about: volume.uid,
      signal,
    }),
    classCallerOf: ({ parameters, signal }) => ({
      token: tokenOf(parameters),
      about: classCalls,
      signal,
    }),
  };
}

/** Converts a provider's volume to the result of provision. */
export function provisioned({
  id,
  sizeGib,
}: {
  readonly id: string;
  readonly sizeGib: number;
}): ProvisionResult {
  return { handle: id, sizeBytes: bytesOf(sizeGib) };
}
