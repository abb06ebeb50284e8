/*
 * The ApiServer in a process of its own, so that it and the manager do not hold up each other.
 * Usage, by fork: server.js LATENCY_MS PODS; sends its address and pods, then obeys commands.
 */
import { ApiServer } from 'kubelet-status-manager/testing';
import { benchPods } from '../fixtures.ts';
import type { Command, Reply } from './server-process.ts';

const [latencyMs, count] = process.argv.slice(2).map(Number) as [number, number];

const server = await ApiServer.start({ latencyMs, historyLimit: 1 });
const pods = benchPods(count).map(({ metadata, spec }) =>
  server.pods.create({ metadata: { name: metadata!.name }, spec: { ...spec, automountServiceAccountToken: false } }),
);
process.on('message', (command: Command) => void obey(command));
// The parent has ended, in whatever way.
process.on('disconnect', () => process.exit());
reply({ kubeConfig: server.kubeconfig(), pods });

async function obey(command: Command): Promise<void> {
  if (command === 'kill') await server.kill();
  if (command === 'start-again') await server.startAgain();
  reply({ kubeConfig: server.kubeconfig(), pods: command === 'pods' ? server.pods.list() : [] });
}

function reply(answer: Reply): void {
  process.send!(answer);
}
