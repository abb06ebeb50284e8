/*
 * One virtual node of this library in its own process.
 * Usage: KUBECONFIG=FILE nodes-process.js NODE CLOUD polls|notifies JOURNAL. It prints a line when the node is ready,
 * and ends with its standard input.
 */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { destination, pino } from 'pino';
import { fileJournal } from 'kubelet-status-manager';
import type { KubeConfigObject } from 'kubelet-status-manager/http';
import {
  createVirtualNodes,
  type PodProvider,
  ProviderError,
  type ProviderPod,
} from 'kubelet-status-manager/virtual-nodes';
import type { AskedPod, CloudPod } from './cloud.ts';

process.stdin.resume().once('end', () => process.exit());
const [nodeName, cloudURL, mode, journalFolder] = process.argv.slice(2) as [string, string, string, string];

async function call(method: string, path: string, signal: AbortSignal, body?: AskedPod): Promise<Response> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${cloudURL}${path}`, { method, signal, ...sent });
  if (response.ok || response.status === 404) return response;
  throw new ProviderError(`the cloud answers ${response.status}`, { permanent: response.status === 400 });
}

type Call = PodProvider['createPod'];

const ask =
  (method: string): Call =>
  async ({ metadata: { uid, namespace, name, labels } }, { signal, materials }) => {
    const { volumes } = await materials();
    const files = Object.fromEntries(
      [...volumes.values()].flat().map(({ path, content }) => [path, Buffer.from(content).toString()]),
    );
    await call(method, `/pods/${uid}`, signal, { namespace, name, nodeName, labels, files });
  };

const provider: PodProvider = {
  createPod: ask('POST'),
  updatePod: (pod, _previous, options) => ask('PUT')(pod, options),
  async deletePod({ uid }, { signal }) {
    await call('DELETE', `/pods/${uid}`, signal);
  },
  async listPods({ signal }) {
    const response = await call('GET', '/pods', signal);
    return ((await response.json()) as CloudPod[]).map(reportOf);
  },
  ...(mode === 'notifies' && { notifyPods }),
};

function notifyPods(listener: (pod: ProviderPod) => void, onGap: () => void): () => void {
  const end = new AbortController();
  void readEvents(listener, end.signal).catch(onGap);
  return () => end.abort();
}

async function readEvents(listener: (pod: ProviderPod) => void, signal: AbortSignal): Promise<void> {
  const { body } = await fetch(`${cloudURL}/events`, { signal });
  for await (const line of createInterface({ input: Readable.fromWeb(body!) })) listener(reportOf(JSON.parse(line)));
}

function reportOf(pod: CloudPod): ProviderPod {
  const { uid, namespace, name, nodeName, state, startedAtMs, exitCode } = pod;
  const report = { uid, namespace, name, nodeName, state };
  if (startedAtMs === undefined && exitCode === undefined) return report;
  const exit = exitCode === undefined ? undefined : { exitCode };
  return { ...report, ips: ['10.0.0.1'], containers: [{ name: 'app', exit }] };
}

const nodes = createVirtualNodes({
  client: JSON.parse(readFileSync(process.env['KUBECONFIG']!, 'utf8')) as KubeConfigObject,
  provider,
  logger: pino({ level: 'warn' }, destination(2)),
});
const capacity = { cpu: '1000', memory: '4Ti', pods: '500' };
nodes.add({ nodeName, nodeStatus: () => ({ capacity }), journal: await fileJournal(journalFolder) });
nodes.start();
await nodes.whenReady();
process.stdout.write('ready\n');
