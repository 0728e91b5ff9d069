/** A suite that CI runs in part or completely, with the settings of the complete run. */
export interface Soak {
  /** Its purpose, in one line of the usage text. */
  readonly summary: string;
  /** Built test files, from the project's root. */
  readonly specs: readonly string[];
  /** Variables for the full length of the suite. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Suites by their name in `npm run soak -- NAME`. */
export const soaks: Readonly<Record<string, Soak>> = {
  findings: {
    summary: 'each kept defect is put back into a copy, and its tests are expected to fail',
    specs: ['test/dist/soak/findings.test.js'],
    environment: { KEDGE_FINDINGS: 'all' },
  },
  halves: {
    summary:
      'all users, providers and installations of the suites of which CI runs a half, as root',
    specs: [
      'test/dist/boxes/environment.test.js',
      'test/dist/boxes/hung-starts.test.js',
      'test/dist/boxes/installations.test.js',
      'test/dist/boxes/linked-temporary.test.js',
      'test/dist/boxes/nested-volumes.test.js',
      'test/dist/boxes/process-one.test.js',
      'test/dist/boxes/second-paths.test.js',
      'test/dist/boxes/setuid-attacks.test.js',
      'test/dist/boxes/start-attacks.test.js',
      'test/dist/boxes/temporary-files.test.js',
      'test/dist/containers/mounts/mounted-data.test.js',
      'test/dist/emulators/dead-credential.test.js',
      'test/dist/emulators/drivers/silent-provider.test.js',
      'test/dist/emulators/stories/abandoned-deletions.test.js',
      'test/dist/emulators/stories/denied-deletions.test.js',
      'test/dist/emulators/stories/lost-credentials.test.js',
      'test/dist/emulators/stories/recreated-classes.test.js',
      'test/dist/emulators/stories/refused-credentials.test.js',
      'test/dist/emulators/stories/rotated-credentials.test.js',
      'test/dist/emulators/stories/rotation-storm.test.js',
      'test/dist/emulators/stories/storms.test.js',
      'test/dist/emulators/stories/two-clusters.test.js',
      'test/dist/emulators/stories/unknown-place.test.js',
      'test/dist/emulators/sweep/many-volumes.test.js',
      'test/dist/packaging/installed.test.js',
    ],
    environment: { KEDGE_HALVES: 'all' },
  },
  recipes: {
    summary: 'the recipes of the guide for a field and a kind, on a copy that is built and served',
    specs: ['test/dist/soak/recipes.test.js'],
    environment: {},
  },
  conformance: {
    summary: 'the conformance suite and every faulty driver on every backing and file system',
    specs: [
      'test/dist/drivers/conformance.test.js',
      'test/dist/drivers/conformance-mutants.test.js',
    ],
    environment: { KEDGE_CONFORMANCE: 'all', KEDGE_MUTANTS: 'all' },
  },
  'cloud-faults': {
    summary: 'each request of the life of a cloud volume fails in each way, also through an SDK',
    specs: ['test/dist/emulators/sweep/fault-sweep.test.js'],
    environment: { KEDGE_FAULT_SWEEP: 'all' },
  },
  storage: {
    summary: 'random users of volumes over failing drivers and a dying daemon; nothing is lost',
    specs: ['test/dist/storage/model.test.js'],
    environment: { KEDGE_STORAGE_SEEDS: '2000' },
  },
  'storage-node': {
    summary: 'users of images of this machine, as root; daemon and programs are killed at any step',
    specs: ['test/dist/storage/image-model/real/real-node.test.js'],
    environment: { KEDGE_REAL_NODE_SEEDS: '50' },
  },
  'driver-churn': {
    summary: 'volumes of local on devices under random use, as root; no written data is lost',
    specs: ['test/dist/drivers/churn.test.js'],
    environment: { KEDGE_CHURN_ROUNDS: '100' },
  },
  'container-kills': {
    summary: 'daemon and engine are killed among fifty containers that start and run, as root',
    specs: ['test/dist/containers/container-kills.test.js'],
    environment: { KEDGE_CONTAINER_KILLS: 'all' },
  },
  unified: {
    summary: 'processes and containers under a guest kernel with control groups of v2, as root',
    specs: ['test/dist/containers/unified/unified.test.js'],
    environment: { KEDGE_UNIFIED: 'all' },
  },
  'postgres-ledger': {
    summary: 'PostgreSQL on a block volume is killed under pgbench; no acknowledged commit is lost',
    specs: ['test/dist/containers/postgres-ledger.test.js'],
    environment: { KEDGE_LEDGER_CYCLES: 'all' },
  },
  'provider-kills': {
    summary: 'kedged is killed at every moment of each operation of an asynchronous provider',
    specs: ['test/dist/storage/provider-kills/provider-kills.test.js'],
    environment: { KEDGE_PROVIDER_KILLS: 'all' },
  },
  'cloud-conformance': {
    summary: 'the conformance suite of each cloud driver on each file system, on loop devices',
    specs: [
      'test/dist/emulators/drivers/loop-conformance.test.js',
      'test/dist/emulators/drivers/shared-disk.test.js',
    ],
    environment: { KEDGE_CLOUD_CONFORMANCE: 'all' },
  },
  'cloud-life': {
    summary:
      'containers write at each step of the life of cloud volumes and through each failed attach; the guide is run',
    specs: [
      'test/dist/emulators/life/container-life.test.js',
      'test/dist/emulators/life/attach-faults.test.js',
      'test/dist/emulators/life/device-links.test.js',
      'test/dist/emulators/real-account.test.js',
    ],
    environment: { KEDGE_CLOUD_LIFE: 'all' },
  },
  'cloud-schedules': {
    summary: 'random schedules of each cloud driver with crashes of the daemon and faults',
    specs: ['test/dist/emulators/sweep/random-schedules.test.js'],
    environment: { KEDGE_CLOUD_SCHEDULES: '500' },
  },
  'cloud-clusters': {
    summary: 'two kedged with one credential of each cloud provider under its rate limit',
    specs: ['test/dist/emulators/stories/two-daemons.test.js'],
    environment: { KEDGE_CLOUD_CLUSTERS: 'all' },
  },
  'cloud-volumes': {
    summary:
      '2,000 volumes of one class of each cloud provider, through API, store and controllers',
    specs: ['test/dist/emulators/stories/many-volumes.test.js'],
    environment: { KEDGE_CLOUD_VOLUMES: '2000' },
  },
  'cloud-leaders': {
    summary:
      'another process takes over at each step of a volume that gets other parameters, and of a deletion',
    specs: [
      'test/dist/emulators/leaders/takeover.test.js',
      'test/dist/emulators/leaders/deletion.test.js',
    ],
    environment: { KEDGE_TAKEOVERS: 'all' },
  },
  'cloud-mutants': {
    summary: 'every faulty driver around each cloud driver, on loop devices',
    specs: ['test/dist/emulators/mutants/mutants.test.js'],
    environment: { KEDGE_CLOUD_MUTANTS: 'all' },
  },
  'container-attacks': {
    summary: 'attacks from containers and by claims; each succeeds without the measure against it',
    specs: ['test/dist/containers/attacks.test.js', 'test/dist/containers/claim-attacks.test.js'],
    environment: { KEDGE_CONTAINER_CLAIMS: 'all' },
  },
  'never-stuck': {
    summary:
      'every kind, phase, broken dependency and action; each ends or reports what it waits for',
    specs: ['test/dist/never-stuck/never-stuck.test.js'],
    environment: { KEDGE_NEVER_STUCK: 'all' },
  },
  connections: {
    summary: 'connections to both ports are opened and reset; the memory of kedged stays',
    specs: ['test/dist/acceptance/api/hostile.test.js'],
    environment: { KEDGE_CONNECTION_CYCLES: '300000' },
  },
  admission: {
    summary: 'fifty clients create 10,000 volumes; none of them gets Aborted',
    specs: ['test/dist/admission/rules.test.js'],
    environment: { KEDGE_ADMISSION_VOLUMES: '10000' },
  },
  'hostile-disk': {
    summary: 'a disk loses and tears unsynced writes and fails; no acknowledged write is lost',
    specs: ['test/dist/store/hostile-disk.test.js'],
    environment: {
      KEDGE_HOSTILE_SEEDS: '2000',
      KEDGE_HOSTILE_OPERATIONS: '600',
      KEDGE_HOSTILE_CALL_STRIDE: '1',
    },
  },
  migration: {
    summary: 'a migration is killed at every call of the file system; the directory opens',
    specs: ['test/dist/store/earlier-schema.test.js'],
    environment: { KEDGE_MIGRATION_KILL_EVERY: '1' },
  },
  'power-loss': {
    summary: 'power is lost at random moments under load; no acknowledged write is lost',
    specs: ['test/dist/store/power-loss.test.js', 'test/dist/store/loss-patterns.test.js'],
    environment: { KEDGE_POWER_LOSS_CYCLES: '1000', KEDGE_LOSS_RUNS: '300' },
  },
  damage: {
    summary: 'bits, pages and files of a store are damaged; it answers correctly or refuses',
    specs: ['test/dist/store/damage.test.js'],
    environment: { KEDGE_DAMAGE_PLACES: '20000' },
  },
  history: {
    summary: 'many writers and watchers of one store through restarts; its history is checked',
    specs: ['test/dist/store/history.test.js'],
    environment: { KEDGE_HISTORY_OPERATIONS: '250000', KEDGE_HISTORIES: '20' },
  },
  interrupted: {
    summary:
      'restores and first starts are killed at random moments; the next start has a complete store',
    specs: ['test/dist/store/interrupted.test.js'],
    environment: { KEDGE_INTERRUPTIONS: '1000' },
  },
};
