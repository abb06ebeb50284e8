/*
 * A node agent in its own process, which replies to each message with what the process has used.
 * Usage, with fork: KUBECONFIG_JSON=TEXT worker.js DIRECTORY; without a directory, an idle process to
 * compare it with.
 */
import { cpuMsOfThis } from '../cpu.ts';
import type { Usage } from './messages.ts';

const [directory] = process.argv.slice(2);
let stop = async (): Promise<void> => {};
if (directory !== undefined) {
  // The idle process must not load it.
  const { startAgent } = await import('./agent-process.ts');
  stop = await startAgent(directory, JSON.parse(process.env['KUBECONFIG_JSON']!));
}

process.on('message', () => process.send!(usage()));
process.on('disconnect', () => void stop().then(() => process.exit()));
process.send!(usage());

function usage(): Usage {
  return { atMs: performance.now(), cpuMs: cpuMsOfThis(), rssBytes: process.memoryUsage.rss() };
}
