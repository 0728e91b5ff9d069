import type { Token } from '../core/machine.js';
import type { Delivery, Emulator } from '../core/emulator.js';
import { keyIdOf } from './signature/authenticate.js';
import { signed } from './signature/sigv4.js';

/** An element of an answer: its text, or its children. Children with the same name are in a list. */
export interface Element {
  readonly [name: string]: string | Element | readonly (string | Element)[];
}

/** An answer with its parsed body. */
export interface Cloud3Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The content of the outermost element. */
  readonly body: Element;
}

/** A call of a test, by an action with its parameters. */
export interface Cloud3Call {
  readonly action: string;
  readonly form?: Readonly<Record<string, string | number | boolean>>;
  readonly key?: Token;
  readonly region?: string;
  /** The time of the signature, in milliseconds since the epoch; default the time of the system. */
  readonly at?: number;
}

/** The key of emulators whose options name none. */
export const testKey: Token = { name: 'test', secret: 'test-token' };

/** Sends a signed request to an emulator without a socket. */
export function deliverCloud3(emulator: Emulator, call: Cloud3Call): Promise<Delivery> {
  const { action, form = {}, key = testKey, region = 'eu-central-1', at = Date.now() } = call;
  const all = { Action: action, Version: '2016-11-15', ...form };
  const texts = Object.entries(all).map(([name, value]): [string, string] => [name, String(value)]);
  const headers = {
    host: '127.0.0.1',
    'content-type': 'application/x-www-form-urlencoded',
  };
  const body = new URLSearchParams(texts).toString();
  const request = { method: 'POST', path: '/', query: [], headers, body };
  const { secret, sessionToken } = key;
  const session = sessionToken === undefined ? {} : { sessionToken };
  const signer = { keyId: keyIdOf(key), secret, ...session };
  return emulator.exchange(signed(request, signer, { region, service: 'ec2' }, at));
}

/**
 * Like {@link deliverCloud3}, but returns the answer with its parsed body. @throws Error if there is no complete answer
 */
export async function askCloud3(emulator: Emulator, call: Cloud3Call): Promise<Cloud3Answer> {
  const delivery = await deliverCloud3(emulator, call);
  if (delivery.type !== 'reply') throw new Error(`${call.action} got ${delivery.type}`);
  const { status, headers, body } = delivery.reply;
  return { status, headers, body: childrenOf(body.replace(/^<\?xml[^>]*>\s*/, ''), true) };
}

/** Returns the items of a list of an answer. */
export function itemsOf(body: Element, name: string): readonly Element[] {
  const list = body[name];
  const item = typeof list === 'object' && !Array.isArray(list) ? (list as Element)['item'] : [];
  return (Array.isArray(item) ? item : item === undefined ? [] : [item]) as readonly Element[];
}

/**
 * Parses elements without attributes other than a namespace. With `inner`, returns the children of the outermost
 * element.
 */
function childrenOf(text: string, inner = false): Element {
  const found: Record<string, string | Element | (string | Element)[]> = {};
  for (let rest = text; rest !== ''; ) {
    const [open, name = ''] = /^<([\w-]+)[^>]*>/.exec(rest) ?? [];
    if (open === undefined) throw new Error(`no element: ${rest.slice(0, 80)}`);
    const end = endOf(rest, name);
    const content = rest.slice(open.length, end);
    rest = rest.slice(end + name.length + 3);
    const value = content.startsWith('<') ? childrenOf(content) : unescaped(content);
    if (inner) return typeof value === 'string' ? {} : value;
    const before = found[name];
    found[name] =
      before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value];
  }
  return found;
}

/** Returns the index of the tag that ends the element at the start of a text. */
function endOf(text: string, name: string): number {
  let depth = 0;
  for (const { index, 0: tag } of text.matchAll(new RegExp(`</?${name}(?=[\\s>])[^>]*>`, 'g'))) {
    depth += tag.startsWith('</') ? -1 : 1;
    if (depth === 0) return index;
  }
  throw new Error(`${name} has no end`);
}

function unescaped(text: string): string {
  const signs: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&' };
  return text.replaceAll(/&(\w+);/g, (whole, name: string) => signs[name] ?? whole);
}
