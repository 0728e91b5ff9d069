/**
 * A number with its noun for messages, such as `1 object` and `2 objects`.
 * @param many the plural. Default: `one` with an s
 */
export function counted(count: number | bigint, one: string, many = `${one}s`): string {
  return `${count} ${Number(count) === 1 ? one : many}`;
}
