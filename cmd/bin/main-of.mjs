import { statSync } from 'node:fs';

const modifiedMs = (path) =>
  statSync(new URL(path, import.meta.url), { throwIfNoEntry: false })?.mtimeMs;

/** The last file that the compiler writes, for each package of a checkout. */
const builds = ['.', '../lib', '../proto', '../drivers', '../drivers/sdk', '../controllers'].map(
  (folder) => `../${folder}/dist/.tsbuildinfo`,
);

/**
 * The module that starts a program: its bundle, which loads in a third of the time. In a checkout, a bundle that is
 * older than the compiled files is not used.
 */
export function mainOf(program) {
  const bundle = `../dist/${program}.bundle.js`;
  const bundledMs = modifiedMs(bundle);
  const isCurrent =
    bundledMs !== undefined && builds.every((build) => (modifiedMs(build) ?? 0) <= bundledMs);
  return isCurrent ? bundle : `../dist/${program}/main.js`;
}
