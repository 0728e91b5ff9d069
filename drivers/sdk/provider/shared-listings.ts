import type { OrphanListing, OrphanRequest } from '../contract/provider-report.js';

/**
 * The listings of the running commands. Classes with the same credential see the same resources, so that a command
 * lists them once for all of these.
 */
export class SharedListings {
  /** By the signal of the command, then by the credential. */
  readonly #listings = new WeakMap<AbortSignal, Map<string, Promise<OrphanListing>>>();

  /**
   * Returns the listing for a credential within the command of a request. A failure is shared too.
   * @param credential identifies the credential; the listing depends on nothing else of the class
   */
  of(
    { signal, all }: OrphanRequest,
    credential: string,
    list: () => Promise<OrphanListing>,
  ): Promise<OrphanListing> {
    const known = this.#listings.get(signal) ?? new Map<string, Promise<OrphanListing>>();
    this.#listings.set(signal, known);
    const key = `${credential} ${all === true}`;
    const listing = known.get(key) ?? list();
    known.set(key, listing);
    return listing;
  }
}
