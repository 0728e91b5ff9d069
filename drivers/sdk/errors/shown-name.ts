/** Longest name that a message quotes, in characters. */
const shownMax = 200;

/** Controls, formats such as bidirectional overrides, halves of pairs, private and unassigned ones, line ends. */
const unprintable = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Characters that need no quoting in messages and shells. */
const plain = /^[\p{L}\p{N}_./:@%+,=-]*$/u;

/**
 * An untrusted name for messages, such as that of a process or a mount point: without characters that control a
 * terminal or reorder the text, of bounded length, and in single quotes if it could be mistaken for a part of the
 * message or of its command.
 */
export function shownName(name: string): string {
  // Truncated first: a name of megabytes is not scanned.
  const head = name.length > shownMax ? `${name.slice(0, shownMax)}…` : name;
  const printable = head.replace(unprintable, '?');
  return plain.test(printable) ? printable : `'${printable.replaceAll("'", '?')}'`;
}
