import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { TestDaemon } from '../acceptance/daemon.js';
import { makeMistake, makeTools, type Mistake, type Outcome } from './mistake.js';
import { ofCommands } from './of-commands.js';
import { ofServices } from './of-services.js';
import { ofStorage } from './of-storage.js';

const mistakes: readonly Mistake[] = [...ofServices, ...ofStorage, ...ofCommands];
/** Number of concurrent mistakes: one command line takes the daemon as long as many objects. */
const atOnce = 4;

/** Mistakes that are made concurrently; each test waits for its own. */
class Outcomes {
  readonly #outcomes = new Map<Mistake, Promise<Outcome>>();
  #over = false;

  /** Makes the mistakes from `first` on, in their order. */
  constructor(daemon: TestDaemon, first: Mistake) {
    const turns: Promise<unknown>[] = Array.from({ length: atOnce }, () => Promise.resolve());
    for (const [at, mistake] of mistakes.slice(mistakes.indexOf(first)).entries()) {
      const outcome = Promise.resolve(turns[at % atOnce]).then(() => {
        if (this.#over) throw new Error('the tests are over');
        return makeMistake(daemon, mistake, `m${mistakes.indexOf(mistake)}`);
      });
      // The test of it reports the failure.
      turns[at % atOnce] = outcome.catch(() => undefined);
      this.#outcomes.set(mistake, outcome);
    }
  }

  of(mistake: Mistake): Promise<Outcome> | undefined {
    return this.#outcomes.get(mistake);
  }

  /** Waits for the mistakes that are being made, and makes no others: mocha may run some of the tests only. */
  async dispose(): Promise<void> {
    this.#over = true;
    await Promise.allSettled(this.#outcomes.values());
  }
}

describe('every mistake is explained by one command, with what to do about it', function () {
  this.timeout(300_000);
  let daemon: TestDaemon;
  let outcomes: Outcomes | undefined;

  before(async () => {
    const program = fileURLToPath(new URL('./kedged-with-faults.js', import.meta.url));
    const environment = {
      KEDGE_STORAGE_DEFAULT_STORAGE_CLASS: '',
      KEDGE_RUNTIME_DOCKER_SOCKET: '/nonexistent/docker.sock',
    };
    daemon = await TestDaemon.start({ program, environment });
    await mkdir(join(daemon.home, 'host'), { recursive: true });
    await makeTools(join(daemon.home, 'bin'));
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'faulty',
      driver: 'faulty',
      reclaimPolicy: 'delete',
    });
  });
  after(async () => {
    await outcomes?.dispose();
    await daemon.dispose();
  });

  for (const mistake of mistakes)
    it(`${mistake.name}${mistake.then ? ', and the remedy works as printed' : ''}`, async () => {
      const { namespace, output, code } = (await (outcomes ??= new Outcomes(daemon, mistake)).of(
        mistake,
      ))!;
      expect(code, output).to.equal(mistake.code ?? 0);
      for (const words of mistake.words)
        expect(output).to.contain(words.replaceAll('$NS', namespace));
    });

  it('are at least fifty, at least twenty of them with remedies', () => {
    expect(mistakes.length).to.be.at.least(50);
    expect(mistakes.filter(({ then }) => then).length).to.be.at.least(20);
  });
});
