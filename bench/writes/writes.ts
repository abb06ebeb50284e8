import type { Pod, PodStatus } from 'kubelet-status-manager';
import { Agent } from 'undici';
import { startControlPlane } from '../../test/support/control-plane.ts';
import { KubeHTTP } from '../../test/support/kube-http.ts';
import { runningStatus } from '../fixtures.ts';
import { cpuMsOf } from '../nodes/cpu-of.ts';
import type { Figure, Report } from '../report.ts';
import { type WriteKind, writeKinds } from './write-kinds.ts';

export interface WritesOptions {
  readonly pods: number;
  readonly rounds: number;
  readonly progress: (text: string) => void;
}

/** A kind of write, and what the response has. */
interface Contestant extends WriteKind {
  readonly response: 'object' | 'metadata';
  /** Milliseconds of CPU for each write, one value for each round. */
  readonly serverCPU: number[];
  readonly ownCPU: number[];
  readonly kilobytes: number[];
}

const accepts = {
  object: 'application/json',
  metadata: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json',
} as const;

const connections = 8;
const podsPath = '/api/v1/namespaces/default/pods';

/** What a write of a pod's status costs kube-apiserver and etcd, by the kind of the request and of the response. */
export async function benchWrites({ pods: count, rounds, progress }: WritesOptions): Promise<Report> {
  progress('writes: starting kube-apiserver');
  const controlPlane = await startControlPlane();
  const { url, caData, adminToken } = controlPlane;
  const http = new KubeHTTP({ url, caData, token: adminToken });
  const agent = new Agent({ connections, connect: { ca: Buffer.from(caData, 'base64').toString() } });
  const contestants = writeKinds.flatMap((kind) =>
    (['object', 'metadata'] as const).map((response): Contestant => ({
      ...kind,
      response,
      serverCPU: [],
      ownCPU: [],
      kilobytes: [],
    })),
  );
  try {
    const { body: version } = await http.request('GET', '/version');
    const pods = await createPods(http, count);
    const now = `${new Date().toISOString().slice(0, 19)}Z`;
    let restartCount = 0;
    const write = async (contestant: Contestant): Promise<number> => {
      restartCount++;
      const status = runningStatus(restartCount, () => now) as PodStatus;
      let bytes = 0;
      let next = 0;
      const worker = async (): Promise<void> => {
        while (next < pods.length) {
          const i = next++;
          const { pod, responseBytes } = await send(agent, url, adminToken, contestant, pods[i]!, status);
          pods[i] = pod;
          bytes += responseBytes;
        }
      };
      await Promise.all(Array.from({ length: connections }, worker));
      return bytes;
    };
    for (let round = 0; round <= rounds; round++) {
      progress(round === 0 ? 'writes: warming up' : `writes: round ${round} of ${rounds}`);
      for (const contestant of contestants) {
        const [serverMs, own] = [cpuMsOf(controlPlane.pids()), process.cpuUsage()];
        const bytes = await write(contestant);
        const [serverMsAfter, { user, system }] = [cpuMsOf(controlPlane.pids()), process.cpuUsage(own)];
        if (round === 0) continue;
        if (serverMs !== undefined) contestant.serverCPU.push((serverMsAfter! - serverMs) / count);
        contestant.ownCPU.push((user + system) / 1000 / count);
        contestant.kilobytes.push(bytes / 1000 / count);
      }
    }
    return {
      title: 'One change of a pod’s status, by the kind of the request',
      notes: [
        `${count} pods of two containers on kube-apiserver ${version.gitVersion}, whose restartCounts change, over ${connections} connections, in ${rounds} rounds of all kinds in turns. CPU is the user and system time: of kube-apiserver and etcd together, and of this process, a bare loop that makes the bodies and parses the responses.`,
        `Whole response: the pod. Metadata: the response to \`Accept: ${accepts.metadata}\`. Compared with the strategic merge patch with a whole response, which the library sends.`,
      ],
      figures: contestants.flatMap((contestant) => figuresOf(contestant, contestants[0]!)),
    };
  } finally {
    await agent.close();
    await http.close();
    await controlPlane.stop();
  }
}

/** Rejects unless the status was written. */
async function send(
  agent: Agent,
  origin: string,
  token: string,
  { method, contentType, response, body }: Contestant,
  pod: Pod,
  status: PodStatus,
): Promise<{ readonly pod: Pod; readonly responseBytes: number }> {
  const { statusCode, body: answer } = await agent.request({
    origin,
    path: `${podsPath}/${pod.metadata!.name}/status`,
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': contentType, accept: accepts[response] },
    body: JSON.stringify(body(pod, status)),
  });
  const text = await answer.text();
  if (statusCode !== 200) throw new Error(`${method} ${contentType}: ${statusCode} ${text}`);
  const written = JSON.parse(text) as Pod & { readonly kind: string };
  const isWhole = written.kind === 'Pod';
  if (isWhole !== (response === 'object'))
    throw new Error(`${method} ${contentType}: the response is a ${written.kind}`);
  return { pod: isWhole ? written : { ...pod, metadata: written.metadata!, status }, responseBytes: text.length };
}

async function createPods(http: KubeHTTP, count: number): Promise<Pod[]> {
  await http.request('POST', '/api/v1/nodes', { body: { metadata: { name: 'node-a' } } });
  const pods: Pod[] = [];
  for (let i = 0; i < count; i++) {
    const { status, body } = await http.request('POST', podsPath, {
      body: {
        metadata: { name: `pod-${i}` },
        spec: {
          nodeName: 'node-a',
          automountServiceAccountToken: false,
          containers: ['c0', 'c1'].map((name) => ({ name, image: 'none' })),
        },
      },
    });
    if (status !== 201) throw new Error(`POST ${podsPath}: ${status} ${JSON.stringify(body)}`);
    pods.push(body);
  }
  return pods;
}

function figuresOf({ name, response, ...measured }: Contestant, first: Contestant): Figure[] {
  const row = (what: string, unit: string, field: 'kilobytes' | 'ownCPU' | 'serverCPU'): Figure => ({
    name: `${name}, ${response === 'object' ? 'whole response' : 'metadata'}: ${what}`,
    unit,
    values: measured[field],
    reference: { name: `${first.name}, whole response`, values: first[field] },
  });
  return [
    row('CPU of the API server and etcd', 'ms', 'serverCPU'),
    row('own CPU', 'ms', 'ownCPU'),
    row('response', 'kB', 'kilobytes'),
  ].filter(({ values }) => values.length > 0);
}
