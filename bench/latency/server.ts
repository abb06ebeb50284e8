/*
 * The APIServer in its own process, so that it and the manager do not delay each other.
 * Usage, with fork: server.js LATENCY_MS PODS; sends its kubeconfig and pods, then executes commands.
 */
import { APIServer } from 'kubelet-status-manager/testing';
import { benchPods } from '../fixtures.ts';
import type { Command, Reply } from './server-process.ts';

const [latencyMs, count] = process.argv.slice(2).map(Number) as [number, number];

const server = await APIServer.start({ latencyMs, historyLimit: 1 });
const pods = benchPods(count).map(({ metadata, spec }) =>
  server.pods.create({ metadata: { name: metadata!.name }, spec: { ...spec, automountServiceAccountToken: false } }),
);
process.on('message', (command: Command) => void execute(command));
// The parent process has ended.
process.on('disconnect', () => process.exit());
reply({ kubeConfig: server.kubeconfig(), pods });

async function execute(command: Command): Promise<void> {
  if (command === 'kill') await server.kill();
  if (command === 'start-again') await server.startAgain();
  reply({ kubeConfig: server.kubeconfig(), pods: command === 'pods' ? server.pods.list() : [] });
}

function reply(message: Reply): void {
  process.send!(message);
}
