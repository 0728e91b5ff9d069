import type { Command } from 'commander';
import { type AnyKind, type ApiObject, messageOf, notFound, StatusError } from 'kedge/objects';
import type { ApiClient } from 'kedge/client';
import type { JsonObject } from 'kedge/rpc';
import { printable } from '../../../terminal-text.js';
import { connect } from '../../connection/api.js';
import {
  type Goal,
  goalOf,
  goalText,
  presentState,
  reached,
  requireReachable,
} from '../../connection/goals.js';
import { namedBy, slashed } from '../../connection/targets.js';
import { note, print } from '../../output/output.js';
import { interruptible } from '../../program/interruption.js';
import { withExamples } from '../../program/examples.js';
import { waitSecondsMax, wholeNumber } from '../../program/number-option.js';
import { usageError } from '../../output/usage.js';

interface WaitOptions {
  readonly namespace: string;
  readonly for: string;
  readonly timeout: number;
  readonly selector?: string;
  readonly all?: boolean;
}

interface Wanted {
  readonly kind: AnyKind;
  /** The objects to wait for; undefined: every object that exists at the beginning. */
  readonly names: readonly string[] | undefined;
}

/** The awaited objects of one kind and their states. */
class Waiting {
  readonly #kind: AnyKind;
  readonly #goal: Goal;
  readonly #open = new Map<string, JsonObject>();

  constructor(kind: AnyKind, goal: Goal) {
    this.#kind = kind;
    this.#goal = goal;
  }

  get done(): boolean {
    return this.#open.size === 0;
  }

  /** Selects the objects that exist at the beginning. @throws StatusError NotFound */
  begin(
    names: readonly string[] | undefined,
    items: readonly ApiObject[],
    namespace: string,
  ): void {
    const there = new Map(items.map((item) => [item.name, item as unknown as JsonObject]));
    for (const name of names ?? there.keys()) {
      const object = there.get(name);
      if (object) this.#open.set(name, object);
      else if (this.#goal.type === 'delete') this.#print(name, 'does not exist');
      else throw this.#missing(name, namespace);
      if (object) this.#observe(name, object);
    }
  }

  take(object: JsonObject, deleted: boolean): void {
    const name = String(object.name);
    const before = this.#open.get(name);
    if (!before) return;
    const same = uidOf(before) === uidOf(object);
    if (this.#goal.type === 'delete' && (deleted || !same)) {
      this.#open.delete(name);
      this.#print(name, goalText(this.#goal));
    } else if (deleted)
      throw new StatusError({
        code: 'NotFound',
        reason: 'Deleted',
        message: `${this.#slashed(name)} was deleted before it ${goalText(this.#goal)}`,
      });
    else this.#observe(name, object);
  }

  /** The objects that have not reached the goal, with their state. */
  get report(): readonly string[] {
    return [...this.#open].map(
      ([name, object]) => `${this.#slashed(name)} ${presentState(this.#goal, object)}`,
    );
  }

  #observe(name: string, object: JsonObject): void {
    this.#open.set(name, object);
    if (!reached(this.#goal, object)) return;
    this.#open.delete(name);
    this.#print(name, goalText(this.#goal));
  }

  #slashed(name: string): string {
    return slashed({ kind: this.#kind, name });
  }

  #print(name: string, text: string): void {
    print(`${this.#slashed(name)} ${text}`);
  }

  #missing(name: string, namespace: string): StatusError {
    const where = this.#kind.scope === 'Cluster' ? {} : { namespace };
    return notFound({ kind: this.#kind.kind, ...where, name });
  }
}

function uidOf(object: JsonObject): unknown {
  return (object.metadata as JsonObject | undefined)?.uid;
}

async function waitForKind(
  client: ApiClient,
  { kind, names }: Wanted,
  goal: Goal,
  options: WaitOptions,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { namespace, selector } = options;
  const selection = { namespace, ...(selector === undefined ? {} : { labelSelector: selector }) };
  const remote = client.resource(kind);
  const { items, cursor } = await remote.list(names === undefined ? selection : { namespace });
  const waiting = new Waiting(kind, goal);
  waiting.begin(names, items, namespace);
  if (names === undefined && items.length === 0) throw nothingSelected(kind, options);
  const onAway = (error: unknown): void =>
    note(`The server does not answer (${printable(messageOf(error))}); waiting until it does`);
  // Without the selector: an object that loses its labels is still awaited.
  const changes = { namespace, cursor, known: items, signal, onAway };
  if (!waiting.done && options.timeout > 0) {
    const [first = '', ...more] = waiting.report;
    note(`Waiting: ${first}${more.length > 0 ? `, and ${more.length} more` : ''} ...`);
    for await (const { type, object } of remote.follow(changes)) {
      waiting.take(object as unknown as JsonObject, type === 'DELETED');
      if (waiting.done) break;
    }
  }
  return waiting.report;
}

function nothingSelected(
  { plural, scope }: AnyKind,
  { namespace, selector }: WaitOptions,
): StatusError {
  const where = scope === 'Cluster' ? '' : ` in namespace ${namespace}`;
  const message =
    selector === undefined
      ? `no ${plural} exist${where}; create one first`
      : `no ${plural}${where} match the selector; correct --selector`;
  return new StatusError({ code: 'NotFound', reason: 'NothingSelected', message });
}

function wantedOf(words: readonly string[], { all, selector }: WaitOptions): readonly Wanted[] {
  const { kinds, objects } = namedBy(words);
  if (kinds.length > 0 && all !== true && selector === undefined)
    throw usageError('use names, --all or --selector to select the objects to wait for');
  if (objects.length > 0 && (all === true || selector !== undefined))
    throw usageError('use either names, or --all or --selector, not both');
  const named = new Set(objects.map(({ kind }) => kind));
  return [
    ...kinds.map((kind): Wanted => ({ kind, names: undefined })),
    ...[...named].map((kind): Wanted => {
      const own = objects.filter((object) => object.kind === kind);
      return { kind, names: [...new Set(own.map(({ name }) => name))] };
    }),
  ];
}

async function wait(words: readonly string[], options: WaitOptions): Promise<void> {
  const goal = goalOf(options.for);
  const wanted = wantedOf(words, options);
  for (const { kind } of wanted) requireReachable(kind, goal);
  const client = await connect();
  const failed = new AbortController();
  const limit = AbortSignal.timeout(options.timeout * 1_000);
  const signal = AbortSignal.any([limit, failed.signal]);
  try {
    const waits = wanted.map((each) => waitForKind(client, each, goal, options, signal));
    const all = interruptible('the wait changed nothing', () => Promise.all(waits));
    const open = (await all).flat();
    if (open.length > 0)
      throw new StatusError({
        code: 'DeadlineExceeded',
        reason: 'WaitTimeout',
        message: `the condition was not met within ${options.timeout} s:\n  ${open.join('\n  ')}`,
      });
  } finally {
    failed.abort();
    client.close();
  }
}

/** Adds `kedge wait TYPE NAME... --for GOAL`. */
export function addWait(program: Command): void {
  const command = program
    .command('wait')
    .argument('<words...>', 'TYPE NAME... or TYPE/NAME..., or TYPE with --all or --selector')
    .requiredOption(
      '--for <goal>',
      'condition=TYPE, condition=TYPE=False, status=STATUS, or delete',
    )
    .description('wait until objects have a state, or are deleted')
    .addHelpText(
      'after',
      '\nEnds with exit code 7 after the timeout, and with 4 if an object does not exist or is deleted.\nA status from before the last change of an object is ignored.',
    )
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('-l, --selector <labels>', 'all objects with these labels: a=b,c!=d')
    .option('--all', 'all objects of the type')
    .option(
      '--timeout <seconds>',
      'maximum wait; 0 checks once',
      wholeNumber('--timeout', waitSecondsMax),
      300,
    )
    .action((words: string[], options: WaitOptions) => wait(words, options));
  withExamples(
    command,
    ['kedge wait volume data --for status=Available', 'Until a volume is provisioned'],
    ['kedge wait instance/web-0 --for condition=Ready --timeout 60', 'At most a minute'],
    ['kedge wait service -l app=web --for status=Running', 'For all services with a label'],
    ['kedge wait volume/data --for delete', 'Until a volume is deleted'],
  );
}
