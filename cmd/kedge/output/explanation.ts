import pc from 'picocolors';
import { type Explanation, nextRetryText, requestsOf, requestText } from '@kedge/controllers/cause';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import { printable } from '../../terminal-text.js';
import { coloured } from './output.js';

/** The explanation of an object's state. */
export interface ObjectExplanation {
  /** Kind and key of the object, such as `Volume default/data`. */
  readonly object: string;
  readonly status: string;
  readonly explanation: Explanation | undefined;
  /** Labels and texts of the last driver call: the call, its result, the next retry. Empty without a call. */
  readonly lastCall: readonly (readonly [string, string])[];
  /** Why the state may be out of date; undefined if it is not. */
  readonly stale: string | undefined;
}

/** The last call with its result, and the next retry; empty for an object without calls. */
export function lastCallOf(object: JsonObject): ObjectExplanation['lastCall'] {
  const { lastOperation } = object;
  if (!isJsonObject(lastOperation)) return [];
  const call = textOf(lastOperation, 'call');
  const outcome = textOf(lastOperation, 'outcome');
  const message = textOf(lastOperation, 'message');
  const nextTryAt = textOf(lastOperation, 'nextTryAt');
  return [
    ['Last call', `${call} at ${textOf(lastOperation, 'startedAt')}`],
    ['Result', message === '' ? outcome : `${outcome}: ${message}`],
    ['Next retry', nextRetryText({ call, outcome, nextTryAt })],
  ];
}

/** An explanation for people: the cause, its meaning, the remedy, and the command on a separate line. */
export function explanationText({
  object,
  status,
  explanation,
  lastCall,
  stale,
}: ObjectExplanation): string {
  const head = `${object} is ${coloured(status)}`;
  const calls = lastCall;
  const lines: (readonly [string, string])[] = [];
  if (explanation) {
    const { path, reason, meaning, message, remedy } = explanation;
    lines.push([
      'Cause',
      `${explanation.object === object ? '' : `${explanation.object}: `}${message}`,
    ]);
    if (path.length > 1) lines.push(['Through', path.join(' > ')]);
    lines.push(['Reason', meaning === '' ? reason : `${reason}: ${meaning}`]);
    if (remedy) lines.push(['Remedy', remedy.text]);
  }
  lines.push(...calls);
  for (const request of explanation ? requestsOf(explanation.subject) : [])
    lines.push(['Request', requestText(request)]);
  const width = Math.max(...lines.map(([label]) => label.length), 0) + 3;
  const shown = lines.map(
    ([label, text]) => `${pc.bold(`${label}:`.padEnd(width))}${printable(text)}`,
  );
  const next = explanation?.remedy
    ? ['', 'Next:', `  ${printable(explanation.remedy.command)}`]
    : [];
  const none =
    stale === undefined ? 'It has no problem.' : 'Its last recorded state is no problem.';
  const end = explanation ? next : [none];
  return [head, ...shown, ...end, ...(stale === undefined ? [] : ['', stale])].join('\n');
}

/** An explanation as data for programs. */
export function explanationData({
  object,
  status: recorded,
  explanation,
  stale,
}: ObjectExplanation): JsonObject {
  const status = stale === undefined ? { status: recorded } : { status: recorded, stale };
  if (!explanation) return { object, ...status };
  const { reason, meaning, message, path, remedy } = explanation;
  const requests = requestsOf(explanation.subject).map((one) => ({ ...one }));
  return {
    object,
    ...status,
    cause: { object: explanation.object, reason, meaning, message, path: [...path] },
    ...(requests.length > 0 ? { requests } : {}),
    ...(remedy ? { remedy: { ...remedy } } : {}),
  };
}
