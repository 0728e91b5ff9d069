import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import type { TestDaemon } from '../acceptance/daemon.js';

/** A tar of real-image.sh, which may still be being written. */
const tar = process.env['KEDGE_REAL_IMAGE'];

/** Maximum time of a bootstrap of Debian on a loaded machine. */
export const imageMs = 900_000;

/** Skips the suite with a message if no image was requested; throws in CI. */
export function requireImage(context: Mocha.Context): void {
  if (tar !== undefined) return;
  const why =
    'KEDGE_REAL_IMAGE is not set; make the image (test/containers/real-image.sh FILE postgres:15), and set it to FILE';
  if (process.env['CI']) throw new Error(why);
  console.log(`skipped: ${why}`);
  context.skip();
}

/** Waits for the image postgres:15 and loads it. */
export async function loadImage(daemon: TestDaemon): Promise<void> {
  await eventually(
    'the image',
    () => [tar, `${tar}.failed`].some((file) => existsSync(file ?? '')),
    imageMs,
  );
  expect(existsSync(tar ?? ''), 'real-image.sh failed').to.equal(true);
  const load = await daemon.cli('image', 'load', tar ?? '');
  expect(load.stdout, load.stderr).to.equal('postgres:15 loaded\n');
}
