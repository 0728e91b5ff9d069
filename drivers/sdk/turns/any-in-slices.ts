/**
 * Whether `test` is true for any item. The items of a slice are tested concurrently, and reading stops after a slice
 * with a match. A large source needs little memory, and other work runs between slices.
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
