/**
 * Waits for a condition instead of sleeping: polls `probe` until it returns a value other than undefined or false. A
 * probe that throws is repeated; the time limit does not end a probe that never returns.
 * For tests with real processes; advance a fake clock instead.
 * @throws Error that names `what` after `timeoutMs` (default 30 s). Its cause is the error of the last probe, if any.
 */
export async function eventually<T>(
  what: string,
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  timeoutMs = 30_000,
): Promise<T> {
  const end = performance.now() + timeoutMs;
  let last: unknown;
  while (performance.now() < end) {
    try {
      const value = await probe();
      if (value !== undefined && value !== false) return value;
      last = undefined;
    } catch (error) {
      last = error;
    }
    await new Promise<void>((resolve) => {
      setTimeout(resolve, 20);
    });
  }
  throw new Error(`timed out after ${timeoutMs} ms waiting for: ${what}`, { cause: last });
}
