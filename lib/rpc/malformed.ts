import { messageOf, StatusError } from '../base/index.js';
import type { DescMessage } from '@bufbuild/protobuf';

/** The error for bytes that are not a valid message of this type. */
export function malformed(message: DescMessage, error: unknown): StatusError {
  return new StatusError({
    code: 'InvalidArgument',
    reason: 'MalformedMessage',
    message: `the message is not a valid ${message.typeName}: ${messageOf(error)}`,
    cause: error,
  });
}

/**
 * Requires that a field ends within its enclosing message. The decoder does not check this: it continues to read, so
 * that uncounted bytes after the message would become its fields.
 * @throws Error if it does not
 */
export function requireWithin(past: number, end: number): void {
  if (past > end) throw new Error('a field extends beyond the end of its enclosing message');
}
