import { messageOf, StatusError } from '../base/index.js';
import type { DescMessage } from '@bufbuild/protobuf';

/** The error for bytes that are not such a message. */
export function malformed(message: DescMessage, error: unknown): StatusError {
  return new StatusError({
    code: 'InvalidArgument',
    reason: 'MalformedMessage',
    message: `the request is not a valid ${message.typeName}: ${messageOf(error)}`,
    cause: error,
  });
}

/**
 * Demands that a field ends within the message that holds it. The decoder does not: it reads on, so that bytes after the
 * message would be fields of it that nobody counted.
 * @throws Error
 */
export function demandWithin(past: number, end: number): void {
  if (past > end) throw new Error('a field extends beyond the end of its enclosing message');
}
