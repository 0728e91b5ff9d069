import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** Shared with test/architecture/sizes.test.ts. */
const sizes = JSON.parse(
  readFileSync(join(import.meta.dirname, 'test/architecture/sizes.json'), 'utf8'),
);
const maxLines = (max) => ({ 'max-lines': ['error', { max }] });

const time = 'inject a Clock (lib/base/clock.ts) instead';
/** Phases of volumes and snapshots. */
const phases =
  'Pending|Provisioning|Available|Bound|Released|Failed|Stalled|Creating|Ready|Deleting';
const chance = 'inject a Random (lib/base/random.ts) instead';

/** Where phases are written. */
const withPhases = ['controllers/{volume,snapshot,agent}/**/*.ts'];
const rawPhase = {
  selector: ['', 'TSAsExpression > ']
    .map((cast) => `Property[key.name="status"] > ${cast}Literal[value=/^(${phases})$/]`)
    .join(', '),
  message: 'a phase comes out of the table: nextPhase(from, event) of phases.ts',
};

const throughTxn =
  'write status through txn of the reconcile, or runTxn where no reconcile runs (docs/guides/controllers.md): it checks what was read';
/** Files whose status writes are not part of a reconcile, with the reason. */
const rawStatusWrites = {
  'controllers/**/verbs.ts': 'methods of the API: each call has its own precondition',
  'controllers/volume/import/import-volume.ts':
    'a method of the API, whose object is created in the same commit',
  'controllers/volume/reconcile/controller.ts': 'rearm, for the API and the command line',
  'controllers/storage-root/watch.ts':
    'a loop over the storage root, for which no work queue has a key',
  'controllers/secret/key-rotation.ts': 'seals stored values of any kind again',
};
const notReconcilers = ['**/*.test.ts', 'controllers/testing/**', ...Object.keys(rawStatusWrites)];
const rawStatus = [
  "CallExpression[callee.property.name='updateStatus']:not([callee.object.name='txn'])",
  "CallExpression[callee.name='modifyStatus']",
  "Property[key.name='op'][value.value='updateStatus']",
].map((selector) => ({ selector, message: throughTxn }));

export default defineConfig(
  { ignores: ['**/dist/**', '**/gen/**', '**/node_modules/**'] },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      // One program for all packages: one for each package checks the sources of the packages below it again.
      parserOptions: { project: './tsconfig.lint.json', tsconfigRootDir: import.meta.dirname },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_' },
      ],
      '@typescript-eslint/prefer-readonly': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-misused-promises': 'error',
      eqeqeq: 'error',
      ...maxLines(sizes.sourceLinesMax),
      'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true, named: true } }],
    },
  },
  { files: ['**/*.test.ts', 'test/**/*.ts'], rules: maxLines(sizes.testLinesMax) },
  // ESLint does not read shell scripts; sizes.test.ts counts their lines.
  ...Object.entries(sizes.longerSources)
    .filter(([file]) => !file.endsWith('.sh'))
    .map(([file, max]) => ({ files: [file], rules: maxLines(max) })),
  {
    files: ['lib/**/*.ts', 'controllers/**/*.ts'],
    ignores: ['lib/base/clock.ts', 'lib/base/random.ts', 'lib/testing/**', '**/*.test.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        { name: 'setTimeout', message: time },
        { name: 'setInterval', message: time },
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: time },
        { object: 'performance', property: 'now', message: time },
        { object: 'Math', property: 'random', message: chance },
        {
          object: 'process',
          property: 'env',
          message: 'take options instead; only cmd reads the environment',
        },
      ],
    },
  },
  {
    files: ['controllers/**/*.ts'],
    ignores: ['controllers/reasons/set-condition.ts', '**/*.test.ts', 'controllers/testing/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          name: 'kedge',
          importNames: ['setCondition'],
          message: 'import it from controllers/reasons: it takes only reasons that have a remedy',
        },
      ],
    },
  },
  {
    files: ['controllers/**/*.ts'],
    ignores: [...withPhases, ...notReconcilers],
    rules: { 'no-restricted-syntax': ['error', ...rawStatus] },
  },
  {
    files: withPhases,
    ignores: ['**/phases.ts', '**/*.test.ts'],
    rules: { 'no-restricted-syntax': ['error', rawPhase] },
  },
  {
    // The last block that names a rule decides, so both are named here.
    files: withPhases,
    ignores: ['**/phases.ts', ...notReconcilers],
    rules: { 'no-restricted-syntax': ['error', rawPhase, ...rawStatus] },
  },
  {
    // Tables of tests: each entry's type is the table's, which the rule does not see.
    files: [
      'lib/testing/conformance/*.ts',
      'drivers/sdk/conformance/{checks,mutants}/*.ts',
      'test/why/of-*.ts',
      'test/emulators/*/routes.ts',
    ],
    rules: { '@typescript-eslint/explicit-module-boundary-types': 'off' },
  },
  {
    files: ['**/*.test.ts', 'test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unused-expressions': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
);
