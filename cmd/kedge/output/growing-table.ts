import { print, table } from './output.js';

/** Number of earlier rows that determine the widths, together with the header and the new row. */
const rememberedMax = 50;

/** A table whose rows arrive one at a time: the header once, then each row in the column widths of the recent rows. */
export class GrowingTable {
  readonly #header: readonly string[];
  #rows: readonly (readonly string[])[] = [];

  constructor(header: readonly string[]) {
    this.#header = header;
  }

  /** Prints a row. */
  add(row: readonly string[]): void {
    const first = this.#rows.length === 0;
    this.#rows = [...this.#rows.slice(-rememberedMax), row];
    const lines = table([this.#header, ...this.#rows]).split('\n');
    if (first) print(lines[0] ?? '');
    print(lines.at(-1) ?? '');
  }
}
