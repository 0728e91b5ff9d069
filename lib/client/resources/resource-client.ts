import { hasCode, systemClock, systemRandom } from '../../base/index.js';
import {
  type ApiObject,
  asObject,
  type Kind,
  keyOf,
  type ListWatch,
  type ObjectKey,
  type Scope,
  type StatusUpdate,
  type ObjectVersion,
  parseCursor,
  requiredUid,
  requiredVersion,
  type WatchEvent,
  type WatchPosition,
} from '../../object/index.js';
import { type JsonObject, type MethodInfo, type StandardVerb, textOf } from '../../rpc/index.js';
import { followChanges, type FollowSource, type FollowStart } from './follow.js';
import { batchOf, type RemoteBatch } from './watch-answers.js';
import { createRepeated } from './repeated-create.js';
import { deleteRepeated } from './repeated-delete.js';
import { resourceSource } from './resource-source.js';
import { ResourceRequests } from './resource-requests.js';
import { waitForObject } from './wait-for-object.js';
import { type ResourceList, wholeList } from './whole-list.js';
import type { NewRemoteObject } from './new-remote-object.js';
import type { Caller, ResourceOptions, ResourceSelection } from './resource-options.js';

/** A resourceVersion that the stored object must have. */
type VersionGuard = Pick<Partial<ObjectVersion>, 'resourceVersion'>;

const selectionOf = ({ namespace }: ObjectKey): ResourceSelection =>
  namespace === undefined ? {} : { namespace };

/** The client type of a kind, for variables: `ResourceClientOf<typeof lamps>`. */
export type ResourceClientOf<K> =
  K extends Kind<infer T, infer S, string, infer N, infer C> ? ResourceClient<T, S, N, C> : never;

/**
 * The objects of one kind on a server. Create it with `ApiClient.resource`.
 *
 * Guarantees:
 * - A list is at one revision, across its pages. A watch from its cursor neither loses nor repeats a change.
 * - `follow` resumes after a broken connection, and delivers the differences if it has to list again.
 * - `update` changes only the version that was read, and `delete` deletes only the object that was read.
 *
 * Ordering: changes arrive in the order of the server's store. After a relist of `follow` deletions come first.
 *
 * Errors: StatusErrors as the server sent them; a missing object is undefined for `get`, else NotFound. After
 * OutOfRange of a watch, list again.
 *
 * Caveats: objects have the form of the API for this caller. `overwrite` loses concurrent writes, and `deleteByName`
 * may delete a recreated object. `follow` keeps the delivered objects in memory.
 *
 * @example
 * import { ApiClient } from 'kedge/client';
 *
 * using client = new ApiClient({ ...api, server: '127.0.0.1:7000', token: process.env.TOKEN });
 * const resource = client.resource(lamps);
 * const lamp = await resource.create({ name: 'hall', on: false });
 * await resource.update({ ...lamp, on: true });
 * const key = { name: 'hall' };
 * await resource.waitFor(key, (now) => now?.lit === true, { timeoutMs: 5_000 });
 * await resource.delete(lamp);
 */
export class ResourceClient<
  T extends ApiObject,
  S extends string = string,
  N extends Scope = Scope,
  C = unknown,
> {
  readonly #caller: Caller;
  readonly #kind: Kind<T, S, string, N, C>;
  readonly #requests: ResourceRequests;
  readonly #pageSize: number;

  constructor(
    caller: Caller,
    kind: Kind<T, S, string, N, C>,
    methods: readonly MethodInfo[],
    options: Partial<ResourceOptions>,
  ) {
    this.#caller = caller;
    this.#kind = kind;
    this.#pageSize = options.pageSize ?? 500;
    this.#requests = new ResourceRequests(kind, methods);
  }

  /** Reads an object; undefined if it does not exist. */
  async get(key: ObjectKey): Promise<T | undefined> {
    try {
      return await this.#one('Get', { ...key });
    } catch (error) {
      if (hasCode(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /**
   * Lists all objects at one revision, page by page; restarts once if the server lost the pages.
   * `cursor` is the start of a watch.
   */
  async list(selection: ResourceSelection = {}): Promise<ResourceList<T>> {
    const { items, cursor } = await wholeList((token) => this.#page(selection, token));
    const { revision } = parseCursor(cursor);
    return { items: items as unknown as readonly T[], revision, cursor };
  }

  /**
   * Yields the objects one by one, fetched by page; all at one revision.
   * @throws StatusError OutOfRange (PageTokenExpired) between two pages if the server no longer has
   * the remaining pages of this revision
   */
  async *iterate(selection: ResourceSelection = {}): AsyncIterable<T> {
    let pageToken = '';
    do {
      const page = await this.#page(selection, pageToken);
      yield* (page.items ?? []) as readonly T[];
      pageToken = textOf(page, 'nextPageToken');
    } while (pageToken !== '');
  }

  #page(
    selection: ResourceSelection,
    pageToken: string,
    limit: number = this.#pageSize,
  ): Promise<JsonObject> {
    const request = { ...this.#requests.selected(selection), limit, pageToken };
    return this.#caller.call(this.#requests.id('List'), request);
  }

  /**
   * Delivers every change after a position, without end. Without a position, the present state comes first, as
   * MODIFIED. It resumes after a broken connection. If the server can't resume (its history was compacted, or it was
   * restored), it lists again and delivers the differences: missing objects as DELETED with their last delivered state,
   * the others as MODIFIED. For that it keeps the delivered objects in memory.
   */
  follow(options: ResourceSelection & FollowStart<T>): AsyncIterable<WatchEvent<T>> {
    const { fromRevision, cursor, known = [], signal, onAway, ...selection } = options;
    const from =
      cursor !== undefined ? { cursor } : fromRevision === undefined ? undefined : { fromRevision };
    return this.#follow(selection, from, known, signal, onAway);
  }

  #follow(
    selection: ResourceSelection,
    from: WatchPosition | undefined,
    known: readonly T[],
    signal: AbortSignal,
    onAway?: (error: unknown) => void,
  ): AsyncIterable<WatchEvent<T>> {
    const source: FollowSource<T> = {
      list: () => this.list(selection),
      watch: (at, until) => this.watch({ ...selection, ...at, signal: until }),
    };
    const ports = { clock: systemClock, random: systemRandom };
    return followChanges(source, { from, known, signal, onAway, ...ports });
  }

  /**
   * Resolves to the object as soon as `holds` returns true; `undefined` represents a missing object. The first two
   * calls are not interrupted by `timeoutMs` and `signal`: they have the deadline of the client.
   * @throws StatusError DeadlineExceeded with the last seen state, after `timeoutMs` or when `signal` aborts
   */
  async waitFor(
    key: ObjectKey,
    holds: (object: T | undefined) => boolean,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<T | undefined> {
    const where = selectionOf(key);
    return await waitForObject(
      {
        kind: this.#kind.kind,
        cursor: async () => textOf(await this.#page(where, '', 1), 'resourceVersion'),
        get: () => this.get(key),
        follow: (from, known, signal) => this.#follow(where, from, known, signal),
      },
      key,
      holds,
      options,
    );
  }

  /**
   * Creates an object. With `attempts` above 1, an attempt whose answer was lost is repeated safely: the object
   * carries a key of this call in annotation `kedge.dev/request`, by which the repetition recognizes its own object.
   */
  create(
    object: NewRemoteObject<T, N, C>,
    options: { readonly attempts?: number } = {},
  ): Promise<T> {
    const { attempts = 1 } = options;
    const calls = {
      create: (marked: object) => this.#create(marked),
      get: (key: ObjectKey) => this.get(key),
    };
    return createRepeated(calls, object, attempts);
  }

  #create(object: object): Promise<T> {
    const where = selectionOf(object as ApiObject);
    return this.#one('Create', { ...where, ...this.#requests.body(object) });
  }

  /**
   * Replaces everything except status, if the stored object still has the uid and the version of
   * `object`: pass a changed copy of the object that was read. Not repeated if the answer is lost.
   * @throws StatusError NotFound, Aborted (Conflict) if the object was written or recreated since,
   * InvalidArgument for an object without uid or version.
   */
  async update(object: T): Promise<T> {
    requiredVersion(this.#kind, object);
    return this.#one('Update', { ...keyOf(object), ...this.#requests.body(object) });
  }

  /**
   * Replaces everything except status of any object with this name; concurrent writes are lost. Not
   * repeated if the answer is lost: others may have written since. @throws StatusError NotFound
   */
  overwrite(object: NewRemoteObject<T, Scope, C>): Promise<T> {
    const given = asObject(object);
    const { annotations } = given.metadata ?? {};
    const body = { ...object, metadata: annotations ? { annotations } : {} };
    return this.#one('Update', { ...keyOf(given), ...this.#requests.body(body) });
  }

  /** Sets status fields. A given uid or version must be stored. @throws StatusError NotFound, Aborted (Conflict) */
  updateStatus(
    key: ObjectKey,
    status: StatusUpdate<T, S>,
    { uid, resourceVersion }: Partial<ObjectVersion> = {},
  ): Promise<T> {
    const metadata = {
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    };
    const updateMask = Object.keys(status).join(',');
    const body = this.#requests.body({ ...key, ...status, metadata });
    return this.#one('UpdateStatus', { ...key, ...body, updateMask });
  }

  /**
   * Deletes the object that was read, in any version, but not another object of that name. Resolves
   * to the object with its deletion marked, or to its last state if it was removed. Resolves to
   * `object` if an answer was lost and the repetition finds it removed.
   * @throws StatusError NotFound, Aborted (Conflict) for another uid or `resourceVersion`,
   * InvalidArgument for an object without uid.
   */
  async delete(object: T, { resourceVersion }: VersionGuard = {}): Promise<T> {
    const key = keyOf(object);
    const guard = resourceVersion === undefined ? {} : { resourceVersion };
    const uid = requiredUid(this.#kind, object);
    const calls = {
      delete: (onLostAnswer: () => void) =>
        this.#one('Delete', { ...key, uid, ...guard }, { onLostAnswer }),
      get: () => this.get(key),
    };
    return deleteRepeated(calls, object);
  }

  /** Like {@link delete}, for any object with this name. Not repeated if the answer is lost. */
  deleteByName(key: ObjectKey, { resourceVersion }: VersionGuard = {}): Promise<T> {
    const guard = resourceVersion === undefined ? {} : { resourceVersion };
    return this.#one('Delete', { ...keyOf(key), ...guard });
  }

  /**
   * Yields batches after a position, and bookmarks, each with a cursor to resume.
   * @throws StatusError OutOfRange (Compacted, Ahead, OtherStore): list again
   */
  async *watch(
    options: ResourceSelection & WatchPosition & { readonly signal: AbortSignal },
  ): AsyncIterable<RemoteBatch<T>> {
    const { signal, ...rest } = options;
    const resourceVersion = 'cursor' in rest ? rest.cursor : String(rest.fromRevision);
    const request = { ...this.#requests.selected(rest), resourceVersion };
    for await (const answer of this.#caller.stream(this.#requests.id('Watch'), request, signal))
      yield batchOf<T>(answer);
  }

  /**
   * Returns the kind as an informer's source. The server sends a bookmark every 15 s, so an
   * informer treats a stream that is silent for 40 s as dead, and starts a new one.
   */
  source(selection: ResourceSelection = {}): ListWatch<T> {
    return resourceSource({
      list: () => this.list(selection),
      watch: (from, signal) => this.watch({ ...selection, ...from, signal }),
    });
  }

  async #one(
    verb: StandardVerb,
    request: JsonObject,
    options?: { readonly onLostAnswer?: () => void },
  ): Promise<T> {
    return asObject<T>(await this.#caller.call(this.#requests.id(verb), request, options));
  }
}
