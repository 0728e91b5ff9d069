import { invalid } from '../base/index.js';

/** Parses a resource version that a client sends. @throws StatusError InvalidArgument. */
export function parseRevision(value: string): number {
  const revision = Number(value);
  if (/^\d{1,16}$/.test(value) && Number.isSafeInteger(revision)) return revision;
  const description = `${JSON.stringify(value)} is not a version that this API gave out`;
  throw invalid([{ field: 'resourceVersion', description }]);
}
