/** Longest name that a message quotes, in characters. */
const shownMax = 200;

/** Controls, formats such as bidirectional overrides, halves of pairs, private and unassigned ones, line ends. */
const unprintable = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Characters that need no quoting in messages and shells. */
const plain = /^[\p{L}\p{N}_./:@%+,=-]*$/u;

/**
 * A name that somebody else chose, such as that of a process or of a mount point, as a message may tell it:
 * without characters that steer a terminal or reorder the text, of bounded length, and in single quotes where
 * it could be taken for a part of the message or of a command in it.
 */
export function shownName(name: string): string {
  // Cut first: a name of megabytes is not gone through.
  const head = name.length > shownMax ? `${name.slice(0, shownMax)}…` : name;
  const printable = head.replace(unprintable, '?');
  return plain.test(printable) ? printable : `'${printable.replaceAll("'", '?')}'`;
}
