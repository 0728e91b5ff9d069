import { type Instance, instances } from '../../instance/kind.js';
import { nodes } from '../../node/kind.js';
import type { ProvisionedOptions } from '../../provisioned/contract.js';
import { storageClasses } from '../../storage-class/kind.js';
import { type Volume, volumes } from '../kind.js';
import { ExpectedPlacements } from './expected-placements.js';
import { isAt } from './topology-choice.js';
import {
  expectUsers,
  expectWaiting,
  namedPlaces,
  type UserSources,
  usersOf,
} from './user-nodes.js';

type Labels = Readonly<Record<string, string>>;

/** The instances that mount a volume, and the places that parameters of their other volumes name. */
export interface FoundUsers extends Pick<UserSources, 'named'> {
  readonly users: readonly Instance[];
}

/** The instances that mount volumes, and the nodes on which they will run once their volumes have a place. */
export class VolumeUsers {
  readonly #options: ProvisionedOptions;
  readonly #expected = new ExpectedPlacements();
  /** Whether the choices of an earlier process are among the expectations. */
  #knowsEarlier = false;

  constructor(options: ProvisionedOptions) {
    this.#options = options;
  }

  /** The users of a volume with open labels; none if its parameters name its place. */
  async find(volume: Volume, open: readonly string[]): Promise<FoundUsers> {
    if (open.length === 0) return { users: [], named: new Map() };
    const { store, manager, drivers } = this.#options;
    const users = await usersOf(volume, store);
    const classes = manager.informer(storageClasses).lister;
    const known = { volumes: manager.informer(volumes).lister, classes, drivers };
    return { users, named: await namedPlaces(users, known) };
  }

  /** The present objects, without the expectations that have ended. */
  sources({ named }: Pick<FoundUsers, 'named'>): UserSources & { readonly now: number } {
    const { manager, clock } = this.#options;
    const now = clock.now();
    const cached = manager.informer(instances).lister;
    this.#expected.forgetEnded(cached, now);
    const sources = {
      nodes: manager.informer(nodes).lister.list(),
      volumes: manager.informer(volumes).lister,
      classes: manager.informer(storageClasses).lister,
      instances: cached,
      expected: this.#expected,
      named,
      now,
    };
    if (!this.#knowsEarlier) {
      this.#knowsEarlier = true;
      expectWaiting(sources);
    }
    return sources;
  }

  /** Remembers where the users of a volume will run, for the choices of other volumes. */
  expect(volume: Volume, { users, named }: FoundUsers, place: Labels): void {
    if (users.length === 0 || Object.keys(place).length === 0) return;
    expectUsers(volume, users, (node) => isAt(node, place), this.sources({ named }));
  }
}
