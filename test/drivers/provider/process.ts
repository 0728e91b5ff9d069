import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ProviderClient } from './client.js';
import type { Pace } from './engine.js';
import type { FaultRule, Release } from './faults.js';
import type { ProviderState } from './state.js';

const program = fileURLToPath(new URL('main.js', import.meta.url));

/** A rule that was given to the provider. */
export interface ArmedRule {
  /** Resolves when a request matches it. */
  reached(): Promise<void>;
  /** Releases or drops the held requests and disables the rule. */
  release(how?: Release): Promise<void>;
}

/** The provider's process, with the faults that a test configures. */
export class ProviderProcess {
  readonly folder: string;
  readonly #instances: Readonly<Record<string, string>>;
  readonly #client: ProviderClient;
  #child: ChildProcess | undefined;

  private constructor(folder: string, instances: Readonly<Record<string, string>>) {
    this.folder = folder;
    this.#instances = instances;
    this.#client = new ProviderClient(folder);
  }

  static async start(
    folder: string,
    instances: Readonly<Record<string, string>>,
  ): Promise<ProviderProcess> {
    const provider = new ProviderProcess(folder, instances);
    await provider.run();
    return provider;
  }

  async run(): Promise<void> {
    const args = [program, this.folder, JSON.stringify(this.#instances)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child = child;
    const lines = createInterface({ input: child.stdout });
    const ended = once(child, 'exit').then(() => Promise.reject(new Error('the provider ended')));
    await Promise.race([once(lines, 'line'), ended]);
    ended.catch(() => undefined);
  }

  /** kill -9 unless another signal is named. */
  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  #control<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<T> {
    const given = body === undefined ? {} : { body };
    return this.#client.call<T>({ method, path: `/control/${path}`, ...given });
  }

  async arm(rule: Omit<FaultRule, 'times'>, times = 1): Promise<ArmedRule> {
    const { rule: id } = await this.#control<{ readonly rule: number }>('POST', 'rules', {
      ...rule,
      times,
    });
    return {
      reached: () => this.#control('GET', `rules/${id}/reached`),
      release: (how = 'goOn') => this.#control('POST', `rules/${id}/release`, { how }),
    };
  }

  /** Removes all rules and releases held requests. */
  disarm(): Promise<void> {
    return this.#control('DELETE', 'rules');
  }

  /** Sets when later operations end. */
  pace(pace: Pace): Promise<void> {
    return this.#control('POST', 'pace', pace);
  }

  /** Ends all running operations. */
  endAll(outcome: 'ended' | 'failed' = 'ended'): Promise<void> {
    return this.#control('POST', 'end', { outcome });
  }

  /** Forgets the ids and keys of all operations. */
  forget(): Promise<void> {
    return this.#control('POST', 'forget');
  }

  state(): Promise<ProviderState> {
    return this.#control('GET', 'state');
  }
}

/** The existing objects at the provider of a folder, by the provider's ids. */
export async function inventoryOf(folder: string): Promise<readonly string[]> {
  const asked = { method: 'GET', path: '/control/state' } as const;
  const { disks, snapshots } = await new ProviderClient(folder).call<ProviderState>(asked);
  const shown = Object.values(disks).map(({ id, instance }) =>
    instance === undefined ? id : `${id} at ${instance}`,
  );
  return [...shown, ...Object.keys(snapshots)];
}
