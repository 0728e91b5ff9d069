import type { EmbeddedStore } from 'kedge';

/** Prints a migration regardless of the log level: the rollback steps are needed when nothing else works. */
export function reportMigration({ migration }: EmbeddedStore): void {
  if (!migration) return;
  const { from, to, copy, rollback } = migration;
  process.stderr.write(
    `kedged: the database was migrated from schema version ${from} to ${to}. A copy of it is in ${copy}; remove it when it is no longer needed. To go back: ${rollback}.\n`,
  );
}
