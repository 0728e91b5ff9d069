import { DriverError, type HandleRequest, type NodeInstances } from '@kedge/driver-sdk';
import type { ProviderClock } from '@kedge/driver-sdk/provider';
import type { Cloud3Api, Filter } from './api.js';
import { callerOf, type Ec2Caller } from './parameters.js';

const keptMs = 60_000;
const nodesMax = 10_000;

/** The states of instances that exist. */
const existing: Filter = {
  Name: 'instance-state-name',
  Values: ['pending', 'running', 'stopping', 'stopped'],
};

interface Way {
  readonly by: string;
  /** Returns the input of DescribeInstances; undefined if the name of the node does not have the form. */
  readonly input: (node: string) => Readonly<Record<string, unknown>> | undefined;
}

const byFilter = (Name: string, Values: readonly string[]): Readonly<Record<string, unknown>> => ({
  Filters: [{ Name, Values }, existing],
});

/** The ways from a node to its instance in the order of specification section 2.5. */
const ways: readonly Way[] = [
  {
    by: 'instance id',
    input: (node) => (/^i-[0-9a-f]{8,17}$/.test(node) ? { InstanceIds: [node] } : undefined),
  },
  { by: 'private DNS name', input: (node) => byFilter('private-dns-name', [node, `${node}.*`]) },
  { by: 'Name tag', input: (node) => byFilter('tag:Name', [node]) },
];

/** The ids of the instances that one way finds. */
async function found(
  api: Cloud3Api,
  caller: Ec2Caller,
  input: Readonly<Record<string, unknown>>,
): Promise<readonly string[]> {
  try {
    return (await api.instances(caller, input)).map(({ id }) => id);
  } catch (thrown) {
    if (DriverError.from(thrown).kind === 'NotFound') return [];
    throw thrown;
  }
}

/** The instances of a node by the first way that finds one, for `kedge driver check`. */
export async function instancesOf(
  api: Cloud3Api,
  caller: Ec2Caller,
  node: string,
): Promise<readonly string[]> {
  for (const { input } of ways) {
    const wanted = input(node);
    const ids = wanted ? await found(api, caller, wanted) : [];
    if (ids.length > 0) return ids;
  }
  return [];
}

/** Finds the instances of nodes, and caches each for a minute, because lookups use requests of the budget. */
export class Cloud3Instances implements NodeInstances {
  readonly lookups: NodeInstances['lookups'];
  readonly #clock: ProviderClock;
  readonly #identity: (caller: Ec2Caller) => string;
  readonly #known = new Map<
    string,
    { readonly by: string; readonly id: string; readonly until: number }
  >();

  constructor(api: Cloud3Api) {
    this.#clock = api.client.provider.clock;
    this.#identity = (caller) => api.client.identity(caller);
    this.lookups = ways.map(({ by, input }) => ({
      by,
      find: async (request: HandleRequest): Promise<readonly string[]> => {
        const key = this.#key(request);
        const known = this.#known.get(key);
        // The way that found it decides, and the earlier ones found nothing.
        if (known && known.until > this.#clock.monotonic())
          return known.by === by ? [known.id] : [];
        const wanted = input(request.node);
        const ids = wanted ? await found(api, callerOf(request), wanted) : [];
        const [id] = ids;
        if (id === undefined || ids.length > 1) return ids;
        if (this.#known.size >= nodesMax) this.#known.clear();
        this.#known.set(key, { by, id, until: this.#clock.monotonic() + keptMs });
        return ids;
      },
    }));
  }

  #key(request: HandleRequest): string {
    return `${this.#identity(callerOf(request))} ${request.node}`;
  }

  place(request: HandleRequest): string {
    return `region ${callerOf(request).region} of the AWS account of the credentials`;
  }

  /** Removes the instance of a node from the cache, after an answer that contradicts it. */
  forget(request: HandleRequest): void {
    this.#known.delete(this.#key(request));
  }
}
