import { expect } from 'chai';
import type { Mutant, MutantOutcome } from '@kedge/driver-sdk/conformance';

/** Asserts that the broken guarantee killed a mutant, not an unrelated failure. */
export function requireKilled({ name, breaks }: Mutant, outcome: MutantOutcome): void {
  expect(outcome.type, `${name}: ${breaks}`).to.equal('killed');
  const { message } = outcome as MutantOutcome & { type: 'killed' };
  if (name !== 'errors-are-raw') expect(message, name).to.not.contain('not a DriverError');
  const hangs = name === 'cancelled-calls-hang' || name === 'aborts-are-not-heard';
  expect(message.includes('did not end'), `${name}: ${message}`).to.equal(hangs);
}
