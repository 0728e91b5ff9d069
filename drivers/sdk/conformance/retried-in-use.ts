import { setTimeout as pause } from 'node:timers/promises';
import { DriverError } from '../errors/errors.js';

const attemptsMax = 50;
const pauseMs = 200;

/**
 * Retries a call that fails with InUse, as kedged does: the kernel releases a device some time after its last mount,
 * and another process that started meanwhile has its own copy of every mount.
 * @throws InUse after 50 attempts, any other error of `call` at once
 */
export async function retriedInUse<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await call();
    } catch (error) {
      if (DriverError.from(error).kind !== 'InUse' || attempt >= attemptsMax) throw error;
      await pause(pauseMs);
    }
}
