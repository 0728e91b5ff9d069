// mocha's spec report, then one line of totals that tools read; the same totals as JSON for scripts
// that run mocha more than once (KEDGE_TOTALS_FILE).
const { writeFileSync } = require('node:fs');
const { Spec } = require('mocha').reporters;

/** How long what the tests left open may keep their process. */
const leftoverMs = 30_000;

/** Ends a process that something a test left behind would keep for ever, and says what it is. */
function endLeftovers() {
  const open = process.getActiveResourcesInfo().join(', ');
  console.error(`the tests are over, but their process does not end: ${open}`);
  // Mocha sets its own exit code when the process exits; what is added later comes after it.
  process.on('exit', () => (process.exitCode = 1));
  process.exit();
}

class TotalsReporter extends Spec {
  #failed = [];

  constructor(runner, options) {
    super(runner, options);
    runner.on('fail', (test) => this.#failed.push(test.fullTitle()));
  }

  epilogue() {
    super.epilogue();
    const { passes = 0, failures = 0, pending = 0 } = this.stats;
    console.log(`${passes} passed, ${failures} failed, ${pending} skipped`);
    const file = process.env.KEDGE_TOTALS_FILE;
    if (file)
      writeFileSync(file, JSON.stringify({ passes, failures, pending, failed: this.#failed }));
    setTimeout(endLeftovers, leftoverMs).unref();
  }
}

module.exports = TotalsReporter;
