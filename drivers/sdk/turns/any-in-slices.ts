/**
 * Whether `test` holds of any item. A slice of items is tested at once, and the rest is not read after a slice
 * in which it held: what is read of a large source stays small, and other work gets its turn between slices.
 */
export async function anyInSlices<T>(
  items: Iterable<T> | AsyncIterable<T>,
  sliceSize: number,
  test: (item: T) => Promise<boolean>,
): Promise<boolean> {
  let slice: T[] = [];
  const heldOfSlice = async (): Promise<boolean> => {
    const tested = await Promise.all(slice.map(test));
    slice = [];
    return tested.includes(true);
  };
  for await (const item of items) {
    slice.push(item);
    if (slice.length === sliceSize && (await heldOfSlice())) return true;
  }
  return heldOfSlice();
}
