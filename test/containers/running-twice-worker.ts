// A thread that searches for workloads with two running containers, because the thread of the tests blocks while it runs
// programs. Each message is answered with a TwiceReport.
import { parentPort, workerData } from 'node:worker_threads';
import { RunningTwice, type TwiceOptions } from './running-twice.js';

const watch = new RunningTwice(workerData as TwiceOptions);
parentPort?.on('message', () => parentPort?.postMessage(watch.report()));
