import type { Reply } from '../core/wire.js';

/** A value of an answer. Lists become elements with the name `item`; undefined fields are omitted. */
export type XmlValue =
  | string
  | number
  | boolean
  | undefined
  | readonly XmlValue[]
  | { readonly [name: string]: XmlValue };

/** Stands for the id of a request in an answer until the emulator knows it. */
const requestIdPlace = '{{request-id}}';

const namespace = 'http://ec2.amazonaws.com/doc/2016-11-15/';
const head = '<?xml version="1.0" encoding="UTF-8"?>\n';

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

function element(name: string, value: XmlValue): string {
  if (value === undefined) return '';
  return `<${name}>${content(value)}</${name}>`;
}

function content(value: XmlValue): string {
  if (typeof value !== 'object')
    return String(value ?? '').replaceAll(/[&<>"]/g, (c) => escapes[c] ?? c);
  if (isList(value)) return value.map((one) => element('item', one)).join('');
  return Object.entries(value)
    .map(([name, one]) => element(name, one))
    .join('');
}

function isList(value: object): value is readonly XmlValue[] {
  return Array.isArray(value);
}

const type = { 'content-type': 'text/xml;charset=UTF-8' };

/** Returns the answer of an action: an element with its fields, or the form of errors for the name `error`. */
export function xmlReply(
  status: number,
  action: string,
  fields: { readonly [name: string]: XmlValue },
  headers: Readonly<Record<string, string>> = {},
): Reply {
  const body =
    action === 'error'
      ? `<Response><Errors>${element('Error', { Code: fields['code'], Message: fields['message'] })}</Errors><RequestID>${requestIdPlace}</RequestID></Response>`
      : `<${action}Response xmlns="${namespace}"><requestId>${requestIdPlace}</requestId>${content(fields)}</${action}Response>`;
  return { status, headers: { ...type, ...headers }, body: `${head}${body}` };
}

/** Writes the id of a request into an answer and into the header from which the provider's SDK takes it. */
export function withRequestId(reply: Reply, requestId: string): Reply {
  const headers = { ...reply.headers, 'x-amzn-requestid': requestId };
  return { ...reply, headers, body: reply.body.replaceAll(requestIdPlace, requestId) };
}
