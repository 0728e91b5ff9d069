import { execFileSync } from 'node:child_process';
import { expect } from 'chai';

const logger = new URL('daemon-logger.js', import.meta.url).href;
const program = `import(${JSON.stringify(logger)}).then((m) => m.daemonLogger("info").info("ready", { port: 7 }))`;

/** The log of a program that a shell runs, with standard error redirected. */
function shown(redirection: string, terminal: boolean): string {
  const words = [process.execPath, '-e', program].map((word) => `'${word}'`).join(' ');
  const line = `${words} 2>&1${redirection}`;
  const [command, ...args] = terminal ? ['script', '-qec', line, '/dev/null'] : ['sh', '-c', line];
  return execFileSync(command ?? '', args, { stdio: ['ignore', 'pipe', 'inherit'] }).toString();
}

describe('the log of a daemon', () => {
  it('is text on a terminal', function () {
    this.timeout(180_000);
    expect(shown('', true)).to.match(/^\d\d:\d\d:\d\d info {2}ready port=7\r\n$/);
  });

  it('is JSON elsewhere, even if a terminal started it', function () {
    this.timeout(180_000);
    for (const terminal of [false, true])
      expect(JSON.parse(shown(' | cat', terminal))).to.include({ msg: 'ready', port: 7 });
  });
});
