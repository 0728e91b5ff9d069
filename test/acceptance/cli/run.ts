import { expect } from 'chai';
import type { TestDaemon } from '../daemon.js';

/** Runs a command, expects its exit code (default 0) and some output, and returns the output of both streams. */
export type Run = (words: string | readonly string[], code?: number) => Promise<string>;

/** Returns a {@link Run} for command lines against a daemon. A text is split at spaces, a list is not. */
export function runner(daemon: () => TestDaemon): Run {
  return async (words, code = 0) => {
    const args = typeof words === 'string' ? words.split(' ') : words;
    const done = await daemon().cli(...args);
    const output = done.stdout + done.stderr;
    expect(done.code, `kedge ${args.join(' ')}\n${output}`).to.equal(code);
    expect(output, `kedge ${args.join(' ')}`).to.not.equal('');
    return output;
  };
}
