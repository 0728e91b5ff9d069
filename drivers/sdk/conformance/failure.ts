/** A driver violates a check. The message describes the violation. */
export class ConformanceError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ConformanceError';
  }
}

/** Ends a check that can't be made with this driver on this host. */
export class LeftOut extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(reason);
    this.name = 'LeftOut';
    this.reason = reason;
  }
}

/** @throws ConformanceError unless the condition holds. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new ConformanceError(message);
}
