import type { Delivery, Emulator } from './emulator.js';

/** An answer with its parsed body. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** One call of a test: `POST /v2/volumes?name=a`, with a body. */
export interface TestCall {
  readonly call: string;
  readonly body?: unknown;
  /** Default: test-token; null sends none. */
  readonly token?: string | null;
}

/** Sends a request to an emulator without a socket. */
export function deliver(emulator: Emulator, { call, body, token }: TestCall): Promise<Delivery> {
  const [method = '', target = ''] = call.split(' ');
  const url = new URL(target, 'http://emulator');
  const authorization = token === null ? {} : { authorization: `Bearer ${token ?? 'test-token'}` };
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  return emulator.exchange({
    method,
    path: url.pathname,
    query: [...url.searchParams],
    headers: { ...authorization, ...json },
    body: body === undefined ? '' : JSON.stringify(body),
  });
}

/** Like {@link deliver}, but returns the answer with its parsed body. @throws Error if there is no complete answer */
export async function ask(emulator: Emulator, call: TestCall): Promise<Answer> {
  const delivery = await deliver(emulator, call);
  if (delivery.type !== 'reply') throw new Error(`${call.call} got ${delivery.type}`);
  const { status, headers, body } = delivery.reply;
  const parsed = body === '' ? {} : (JSON.parse(body) as Answer['body']);
  return { status, headers, body: parsed };
}
