/** The violation of a check by a driver. The message describes it. */
export class ConformanceError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ConformanceError';
  }
}

/** Thrown to skip a check that is not possible with this driver on this host. */
export class LeftOut extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(reason);
    this.name = 'LeftOut';
    this.reason = reason;
  }
}

/** Checks a condition. @throws ConformanceError with the message if it does not hold */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new ConformanceError(message);
}
