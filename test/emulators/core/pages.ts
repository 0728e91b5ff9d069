/** A page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly page: number;
  readonly perPage: number;
  readonly lastPage: number;
  readonly total: number;
}

/** Parses the parameters of a page. Returns undefined if one is not a number from 1 or exceeds its limit. */
export function pageNumbers(
  given: { readonly page: string | undefined; readonly perPage: string | undefined },
  limits: { readonly perPage: number; readonly perPageMax: number },
): { readonly page: number; readonly perPage: number } | undefined {
  const whole = (text: string | undefined, usual: number, max: number): number | undefined => {
    if (text === undefined) return usual;
    const value = /^\d+$/.test(text) ? Number(text) : 0;
    return value >= 1 && value <= max ? value : undefined;
  };
  const page = whole(given.page, 1, Number.MAX_SAFE_INTEGER);
  const perPage = whole(given.perPage, limits.perPage, limits.perPageMax);
  return page === undefined || perPage === undefined ? undefined : { page, perPage };
}

/** Returns one page of a list. A page after the last one is empty. */
export function pageOf<T>(
  all: readonly T[],
  { page, perPage }: { readonly page: number; readonly perPage: number },
): Page<T> {
  return {
    items: all.slice((page - 1) * perPage, page * perPage),
    page,
    perPage,
    lastPage: Math.max(1, Math.ceil(all.length / perPage)),
    total: all.length,
  };
}
