import { messageOf, StatusError } from 'kedge';
import { storageRootLabel } from '../messages/storage-root.js';
import type { RootReason } from './plan.js';

/** Whether a storage root is used. */
export type RootState =
  | { readonly type: 'ready' }
  | { readonly type: 'refused'; readonly reason: RootReason; readonly message: string };

/** A root that is not used. */
export type Refusal = Extract<RootState, { type: 'refused' }>;

/** The id of the process that has locked a directory; undefined if it is not known. */
export function lockHolder(error: unknown): string | undefined {
  const resource = error instanceof StatusError ? error.resource : undefined;
  return resource?.kind === 'Process' ? resource.name : undefined;
}

/** Propagates a refusal out of nested steps. */
export class Refused extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal, options?: ErrorOptions) {
    super(refusal.message, options);
    this.refusal = refusal;
  }
}

/** The refusal of a root for an error of its check. */
export function refusalOf(error: unknown, path: string): Refusal {
  if (error instanceof Refused) return error.refusal;
  const message = `${storageRootLabel.format({ path })} can't be used: ${messageOf(error)}; it needs a directory that kedged can read and write`;
  return { type: 'refused', reason: 'StorageRootUnreadable', message };
}
