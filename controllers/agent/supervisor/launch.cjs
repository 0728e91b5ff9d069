// Starts the supervisors of workloads for the daemon. A fork takes time and faults in proportion to the memory of the
// process, so this small process forks in place of the daemon. It ends with the daemon; supervisors don't.
'use strict';
const { spawn } = require('node:child_process');
const { closeSync, constants, fstatSync, openSync, renameSync, writeFileSync } = require('node:fs');

/** Opens a log for appending. Does not follow a link at the end of the path, and does not wait for the reader of a pipe. */
function openLog(path) {
  const { O_WRONLY, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants;
  const log = openSync(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK);
  if (fstatSync(log).isFile()) return log;
  closeSync(log);
  throw new Error(`${path} is not a regular file`);
}

function launch({ files, args, env, logFile }, report) {
  for (const { path, text } of files) {
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }
  const log = openLog(logFile);
  try {
    const child = spawn('/bin/sh', args, {
      detached: true,
      stdio: ['ignore', log, log],
      env,
      cwd: '/',
    });
    child.once('spawn', () => report({ type: 'started' }));
    child.once('error', ({ message }) => report({ type: 'failed', message }));
    child.once('exit', (code) => report({ type: 'ended', code }));
  } finally {
    closeSync(log);
  }
}

process.on('disconnect', () => process.exit());
process.on('message', ({ id, ...request }) => {
  const report = (outcome) => process.connected && process.send({ id, ...outcome });
  try {
    launch(request, report);
  } catch ({ message }) {
    report({ type: 'failed', message });
  }
});
