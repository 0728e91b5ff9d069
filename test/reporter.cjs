// mocha's spec report, then one line of totals that tools read; the same totals as JSON for scripts
// that run mocha more than once (KEDGE_TOTALS_FILE).
const { writeFileSync } = require('node:fs');
const { Spec } = require('mocha').reporters;

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
  }
}

module.exports = TotalsReporter;
