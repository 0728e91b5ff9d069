// mocha's spec report, then one line of totals that tools read; the same totals as JSON for scripts
// that run mocha more than once (KEDGE_TOTALS_FILE).
const { readFileSync, writeFileSync } = require('node:fs');
const { SourceMap } = require('node:module');
const { dirname, relative, resolve } = require('node:path');
const { fileURLToPath } = require('node:url');
const { Spec } = require('mocha').reporters;

/** Maximum time that open handles of tests may keep the process alive, milliseconds. */
const leftoverMs = Number(process.env.KEDGE_LEFTOVER_MS ?? 30_000);

/** Maximum characters of an error and its stack in the summary of several runs. */
const reasonLength = 2000;

/** Ends a process that open handles of a test keep alive, and reports the handles. */
function endLeftovers() {
  const open = process.getActiveResourcesInfo().join(', ');
  console.error(`the tests are over, but their process does not end: ${open}`);
  // Mocha sets its own exit code when the process exits; a later listener overrides it.
  process.on('exit', () => (process.exitCode = 1));
  process.exit();
}

/**
 * A stack with the source positions of built files. Node's own --enable-source-maps does this for every created
 * error, which takes a tenth of the time of the unit tests.
 */
function inSources(stack) {
  return stack.replaceAll(/file:\/\/(\/[^):]+\.js):(\d+):(\d+)/g, (place, path, line, column) => {
    const built = fileURLToPath(`file://${path}`);
    let map;
    try {
      map = JSON.parse(readFileSync(`${built}.map`, 'utf8'));
    } catch {
      // Files of other packages have no map.
      return place;
    }
    const found = new SourceMap(map).findEntry(Number(line) - 1, Number(column) - 1);
    if (found.originalSource === undefined) return place;
    const source = relative(process.cwd(), resolve(dirname(built), found.originalSource));
    return `${source}:${found.originalLine + 1}:${found.originalColumn + 1}`;
  });
}

/** The causes of an error, the nearest first. A cycle of causes ends at its first repetition. */
function causesOf(error) {
  const causes = [];
  for (let at = error?.cause; at !== undefined && !causes.includes(at); at = at?.cause)
    causes.push(at);
  return causes;
}

class TotalsReporter extends Spec {
  #failed = [];
  #reasons = [];

  constructor(runner, options) {
    super(runner, options);
    runner.on('fail', (test, error) => {
      this.#failed.push(test.fullTitle());
      if (typeof error?.stack === 'string') error.stack = inSources(error.stack);
      const reason = [error, ...causesOf(error)].map((each) => String(each?.stack ?? each));
      this.#reasons.push(reason.join('\ncaused by: ').slice(0, reasonLength));
    });
  }

  epilogue() {
    super.epilogue();
    const { passes = 0, failures = 0, pending = 0 } = this.stats;
    console.log(`${passes} passed, ${failures} failed, ${pending} skipped`);
    const file = process.env.KEDGE_TOTALS_FILE;
    if (file)
      writeFileSync(
        file,
        JSON.stringify({
          passes,
          failures,
          pending,
          failed: this.#failed,
          reasons: this.#reasons,
        }),
      );
    setTimeout(endLeftovers, leftoverMs).unref();
  }
}

module.exports = TotalsReporter;
