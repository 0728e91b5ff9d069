import type { OperationKind } from '@kedge/driver-sdk';

/**
 * The point at which a rule applies to a request: an order before and after it is accepted; a poll of an
 * operation; a read of an ended operation's result; the answer of a driver call, as reported by the daemon
 * under test.
 */
export type Point = 'arrived' | 'accepted' | 'polled' | 'read' | 'answered';

/** The action on a request that matches a rule. */
export type FaultAction =
  /** No answer until the request is released. */
  | { readonly type: 'hold' }
  /** The connection is closed without an answer. */
  | { readonly type: 'drop' }
  /** 403: the caller may not see it. */
  | { readonly type: 'deny' }
  | { readonly type: 'throttle'; readonly retryAfterSeconds: number };

/** A rule: requests of a kind at a point, as often as `times`. */
export interface FaultRule {
  readonly point: Point;
  readonly kind: OperationKind;
  readonly action: FaultAction;
  readonly times: number;
}

/** The fate of a request that was held. */
export type Release = 'goOn' | 'discard';

interface Armed {
  readonly rule: FaultRule;
  left: number;
  readonly reached: PromiseWithResolversOf<void>;
  readonly released: PromiseWithResolversOf<Release>;
}

interface PromiseWithResolversOf<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
}

function withResolvers<T>(): PromiseWithResolversOf<T> {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((given) => {
    resolve = given;
  });
  return { promise, resolve };
}

/** The fate of a request after the rules. */
export type Verdict = { readonly type: 'goOn' } | Exclude<FaultAction, { readonly type: 'hold' }>;

/** The faults that a test has configured. */
export class Faults {
  readonly #armed = new Map<number, Armed>();
  #next = 1;

  arm(rule: FaultRule): number {
    const id = (this.#next += 1);
    const reached = withResolvers<void>();
    this.#armed.set(id, { rule, left: rule.times, reached, released: withResolvers() });
    return id;
  }

  /** Resolves when a request matches the rule. */
  async reached(id: number): Promise<void> {
    await this.#armed.get(id)?.reached.promise;
  }

  /** Releases the held requests and disables the rule. */
  release(id: number, how: Release): void {
    const armed = this.#armed.get(id);
    if (!armed) return;
    armed.left = 0;
    armed.released.resolve(how);
  }

  /** Removes all rules. */
  clear(): void {
    for (const id of this.#armed.keys()) this.release(id, 'goOn');
    this.#armed.clear();
  }

  async meet(point: Point, kind: OperationKind): Promise<Verdict> {
    const armed = [...this.#armed.values()].find(
      ({ rule, left }) => left > 0 && rule.point === point && rule.kind === kind,
    );
    if (!armed) return { type: 'goOn' };
    armed.left -= 1;
    armed.reached.resolve();
    const { action } = armed.rule;
    if (action.type !== 'hold') return action;
    return (await armed.released.promise) === 'goOn' ? { type: 'goOn' } : { type: 'drop' };
  }
}
