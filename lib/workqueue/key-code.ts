// The state and the priority of a key in one small integer, so that no key needs an object.

/** Maximum priority: priorities are whole numbers from -1000 to 1000; the default is 0. */
export const priorityMax = 1_000;

export const queued = 0;
export const processing = 1;
export const processingDirty = 2;
const stateBits = 2;

/** The code of a state and a priority. */
export function encode(state: number, priority: number): number {
  return ((priority + priorityMax) << stateBits) | state;
}

/** The state in a code. */
export function stateOf(code: number): number {
  return code & ((1 << stateBits) - 1);
}

/** The priority in a code. */
export function priorityOf(code: number): number {
  return (code >> stateBits) - priorityMax;
}

/** True for a valid priority. */
export function isPriority(priority: unknown): boolean {
  return Number.isInteger(priority) && Math.abs(Number(priority)) <= priorityMax;
}

/** Checks a priority. @throws RangeError unless it is a whole number within {@link priorityMax}. */
export function requirePriority(priority: number): void {
  if (isPriority(priority)) return;
  throw new RangeError(
    `priority ${priority} is not a whole number from -${priorityMax} to ${priorityMax}`,
  );
}
