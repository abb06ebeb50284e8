/*
 * The API server of the agent benchmark in its own process, with the pods of the node.
 * Usage, with fork: server.js PODS FIFO PROBE_PORT; without a port the pods have no probes. Sends its
 * kubeconfig, then replies to commands.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Pod } from 'kubelet-status-manager';
import { APIServer, type RequestRecord } from 'kubelet-status-manager/testing';
import { nodeName, type ServerCommand, type ServerReply } from './messages.ts';

const maxWaitMs = 60_000;

const [count, fifo, probePort] = process.argv.slice(2) as [string, string, string];
/** By the path of the pod. */
const exitToPatchMs = new Map<string, number>();

const server = await APIServer.start({ onRequest: recordExit });
for (let i = 0; i < Number(count); i++) createPod(`bench-${String(i).padStart(3, '0')}`);
process.on('message', (command: ServerCommand) => void execute(command));
process.on('disconnect', () => process.exit());
reply();

function createPod(name: string): void {
  const probes = probePort !== '' && {
    readinessProbe: { httpGet: { host: '127.0.0.1', port: Number(probePort), path: '/' }, periodSeconds: 1 },
    livenessProbe: { exec: { command: ['true'] }, periodSeconds: 10 },
  };
  // One byte in the FIFO ends one container, whose termination message is the time of its exit.
  const script = `read -r _ < ${fifo}; exec date +%s%3N > dev/termination-log`;
  server.pods.create({
    metadata: { name },
    spec: {
      nodeName,
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      containers: [{ name: 'main', image: 'none', command: ['/bin/sh', '-c', script], ...probes }],
    },
  });
}

function recordExit({ method, path, body }: RequestRecord): void {
  if (method !== 'PATCH' || !path.endsWith('/status') || exitToPatchMs.has(path)) return;
  const { status } = JSON.parse(body) as Pod;
  const exitedAtMs = status?.containerStatuses?.[0]?.state?.terminated?.message;
  if (exitedAtMs !== undefined) exitToPatchMs.set(path, Date.now() - Number(exitedAtMs));
}

async function execute(command: ServerCommand): Promise<void> {
  if (command === 'when-ready') await until('all pods are ready', () => server.pods.list().every(isReady));
  else await until('all exits are shown', () => exitToPatchMs.size === Number(count));
  reply();
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
}

async function until(what: string, condition: () => boolean): Promise<void> {
  const untilMs = performance.now() + maxWaitMs;
  while (!condition()) {
    if (performance.now() > untilMs) throw new Error(`It took over ${maxWaitMs / 1000} s until ${what}`);
    await delay(100);
  }
}

function reply(): void {
  process.send!({ kubeConfig: server.kubeconfig(), exitToPatchMs: [...exitToPatchMs.values()] } satisfies ServerReply);
}
