import { expect } from 'chai';
import type { TestDaemon } from '../daemon.js';

/** Output of a command, both streams combined. */
export type Run = (words: string | readonly string[], code?: number) => Promise<string>;

/** Runs command lines against a daemon, and expects their exit codes. Words are split at spaces. */
export function runner(daemon: () => TestDaemon): Run {
  return async (words, code = 0) => {
    const args = typeof words === 'string' ? words.split(' ') : words;
    const done = await daemon().cli(...args);
    const said = done.stdout + done.stderr;
    expect(done.code, `kedge ${args.join(' ')}\n${said}`).to.equal(code);
    expect(said, `kedge ${args.join(' ')}`).to.not.equal('');
    return said;
  };
}
