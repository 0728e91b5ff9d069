import { isDeleting, keyOf, keyString, StatusError, timestamp, type Transaction } from 'kedge';
import { type Instance, instances } from '../../instance/kind.js';
import { nodes } from '../../node/kind.js';
import { isAt, takingFrom, withFitting } from '../../placement/index.js';
import type { ProvisionedOptions } from '../../provisioned/contract.js';
import { storageClasses } from '../../storage-class/kind.js';
import { type Volume, volumes } from '../kind.js';
import { ExpectedPlacements } from './expected-placements.js';
import {
  hasRoom,
  namedPlaces,
  type Nominee,
  nomineesOf,
  type UserSources,
  usersOf,
} from './user-nodes.js';

type Labels = Readonly<Record<string, string>>;

/** The instances that mount a volume, and the places that parameters of their other volumes name. */
export interface FoundUsers extends Pick<UserSources, 'named'> {
  readonly users: readonly Instance[];
}

/** Nominations that are written together with the place of a volume. The scheduler nominates further instances. */
const nominationsMax = 100;

/** The instances that mount volumes, and the nodes on which they will run once their volumes have a place. */
export class VolumeUsers {
  readonly #options: ProvisionedOptions;
  readonly #expected = new ExpectedPlacements();
  /** The end of the last transaction that nominates for a node, by its name; it never rejects. */
  readonly #turns = new Map<string, Promise<void>>();

  constructor(options: ProvisionedOptions) {
    this.#options = options;
  }

  /** The users of a volume with open labels; none are read for a volume without such labels. */
  async find(volume: Volume, open: readonly string[]): Promise<FoundUsers> {
    if (open.length === 0) return { users: [], named: new Map() };
    const { store, manager, drivers } = this.#options;
    const users = await usersOf(volume, store);
    const classes = manager.informer(storageClasses).lister;
    const known = { volumes: manager.informer(volumes).lister, classes, drivers };
    return { users, named: await namedPlaces(users, known) };
  }

  /** The present objects, without the expectations that have ended. */
  sources({ named }: Pick<FoundUsers, 'named'>): UserSources {
    const { manager, clock } = this.#options;
    const now = clock.monotonic();
    const cached = manager.informer(instances).lister;
    this.#expected.forgetEnded(cached, now);
    return {
      nodes: manager.informer(nodes).lister.list(),
      volumes: manager.informer(volumes).lister,
      classes: manager.informer(storageClasses).lister,
      instances: cached,
      expected: this.#expected,
      named,
      now,
    };
  }

  /** The nodes on which the users of a volume will run in a place, from now on for the choices of other volumes too. */
  nominees(volume: Volume, { users, named }: FoundUsers, place: Labels): readonly Nominee[] {
    if (users.length === 0 || Object.keys(place).length === 0) return [];
    const asked = users.slice(0, nominationsMax);
    return nomineesOf(volume, asked, (node) => isAt(node, place), this.sources({ named }));
  }

  /**
   * Runs a transaction that writes the place of a volume, and reserves the rooms of nodes in it: after a crash there are
   * both or none. Transactions for one node run one after the other, because they would only conflict.
   * @throws StatusError Aborted if another instance got a room since the cache was read: the place is chosen again
   */
  async nominating(
    nominees: readonly Nominee[],
    write: (also: (txn: Transaction) => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const names = nominees.flatMap(({ node }) => (node ? [node.name] : []));
    const earlier = names.flatMap((name) => this.#turns.get(name) ?? []);
    const turn = Promise.all(earlier).then(() => write((txn) => this.#nominate(txn, nominees)));
    const ended = turn.catch(() => undefined);
    for (const name of names) this.#turns.set(name, ended);
    try {
      await turn;
    } finally {
      for (const name of names) if (this.#turns.get(name) === ended) this.#turns.delete(name);
    }
  }

  /** Reserves rooms. The commit fails if another instance gets one of them. */
  async #nominate(txn: Transaction, nominees: readonly Nominee[]): Promise<void> {
    const { store, manager, clock } = this.#options;
    const sources = { volumes: manager.informer(volumes).lister };
    const before: Nominee[] = [];
    for (const { instance, node } of nominees) {
      const key = keyOf(instance);
      const current = await txn.get(instances, key, { watching: 'generation' });
      if (current?.metadata.uid !== instance.metadata.uid) continue;
      if (current.node !== undefined || isDeleting(current)) continue;
      await txn.get(instances, key, { watching: ['nominatedNode'] });
      if (node) {
        const users = await takingFrom(txn, store, node, current, sources);
        const beside = before.flatMap((each) => (each.node === node ? [each.instance] : []));
        if (!hasRoom(current, node, withFitting(node, users, beside)))
          throw roomTaken(instance, node.name);
        const nomination = { nominatedNode: node.name, nominatedAt: timestamp(clock) };
        txn.updateStatus(instances, key, nomination);
        before.push({ instance, node });
      } else if (current.nominatedNode)
        txn.updateStatus(instances, key, { nominatedNode: '', nominatedAt: '' });
    }
  }
}

function roomTaken(instance: Instance, node: string): StatusError {
  return new StatusError({
    code: 'Aborted',
    reason: 'Conflict',
    message: `another instance took the room of node "${node}" for instance "${keyString(instance)}"; the place of its volume is chosen again`,
  });
}
