import type {
  AttachRequest,
  Driver,
  DriverError,
  HandleRequest,
  Operations,
  Parameters,
} from '@kedge/driver-sdk';
import { memoryOperations } from '@kedge/driver-sdk';
import type { EmulatedCloud } from '../sweep/emulated-cloud.js';

/** Short names of a driver's calls for one volume of a test. */
export class CalledDriver {
  readonly #cloud: EmulatedCloud;
  readonly driver: Driver;
  readonly parameters: Parameters;
  readonly operations: Operations = memoryOperations();
  readonly uid: string;
  handle = '';

  constructor(
    cloud: EmulatedCloud,
    driver: Driver,
    uid: string,
    parameters: Parameters = cloud.parameters,
  ) {
    this.#cloud = cloud;
    this.driver = driver;
    this.parameters = parameters;
    this.uid = uid;
  }

  request(node = 'worker-1', parameters = this.parameters): HandleRequest {
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
    const request = { ...this.request('worker-1', parameters), ...asked };
    const made = await this.#cloud.over(() => this.driver.provision(request));
    this.handle = made.handle;
    return made;
  }

  attach(
    node?: string,
    parameters?: Parameters,
    more: Partial<AttachRequest> = {},
  ): Promise<unknown> {
    const request = { ...this.request(node, parameters), ...more };
    return this.#cloud.over(() => this.driver.attach(request));
  }

  detach(node?: string): Promise<unknown> {
    return this.#cloud.over(() => this.driver.detach(this.request(node)));
  }

  delete(handle: string | undefined = this.handle): Promise<unknown> {
    return this.#cloud.over(() => this.driver.delete({ ...this.request(), handle }));
  }

  expand(gib: bigint): Promise<unknown> {
    const sizeBytes = gib * 1024n ** 3n;
    return this.#cloud.over(() => this.driver.expand({ ...this.request(), sizeBytes }));
  }
}

/** The error of a call that must fail. @throws Error if it succeeds */
export async function refusalOf(promise: Promise<unknown>): Promise<DriverError> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => error as DriverError,
  );
  if (outcome instanceof Error) return outcome;
  throw new Error(`no error but ${JSON.stringify(outcome)}`);
}
