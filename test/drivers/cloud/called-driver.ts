import type { Driver, DriverError, HandleRequest, Operations, Parameters } from '@kedge/driver-sdk';
import { memoryOperations, untilOver } from '@kedge/driver-sdk';

/** Short names of a driver's calls for one volume of a test. */
export class CalledDriver {
  readonly driver: Driver;
  readonly parameters: Parameters;
  readonly operations: Operations = memoryOperations();
  readonly uid: string;
  handle = '';

  constructor(driver: Driver, parameters: Parameters, uid: string) {
    this.driver = driver;
    this.parameters = parameters;
    this.uid = uid;
  }

  request(node = 'worker', parameters = this.parameters): HandleRequest {
    const { signal } = new AbortController();
    const volume = { uid: this.uid, name: 'data', namespace: 'shop' };
    const { operations, handle } = this;
    return { volume, parameters, node, signal, operations, handle };
  }

  async provision(gib = 1n, parameters = this.parameters): Promise<{ readonly sizeBytes: bigint }> {
    const asked = {
      sizeBytes: gib * 1024n ** 3n,
      accessMode: 'ReadWriteOnce',
      topology: {},
    } as const;
    const request = { ...this.request('worker', parameters), ...asked };
    const made = await over(() => this.driver.provision(request));
    this.handle = made.handle;
    return made;
  }

  attach(node?: string, parameters?: Parameters): Promise<unknown> {
    return over(() => this.driver.attach(this.request(node, parameters)));
  }

  detach(node?: string): Promise<unknown> {
    return over(() => this.driver.detach(this.request(node)));
  }

  delete(handle: string | undefined = this.handle): Promise<unknown> {
    return over(() => this.driver.delete({ ...this.request(), handle }));
  }

  expand(gib: bigint): Promise<unknown> {
    return over(() => this.driver.expand({ ...this.request(), sizeBytes: gib * 1024n ** 3n }));
  }
}

/** Repeats a call until it is over, without its delays. */
export function over<T>(call: () => Promise<T>): Promise<Exclude<T, { readonly type: 'pending' }>> {
  const turn = () =>
    new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  return untilOver(call as never, turn);
}

export async function refusalOf(promise: Promise<unknown>): Promise<DriverError> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => error as DriverError,
  );
  if (outcome instanceof Error) return outcome;
  throw new Error(`no error but ${JSON.stringify(outcome)}`);
}
