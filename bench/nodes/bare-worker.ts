/*
 * The requests of worker.ts without this library: what Node.js, the API server and the machine allow at most. It decides
 * nothing, compares nothing, and has no timeouts.
 * Usage: KUBECONFIG=FILE bare-worker.js PREFIX NODES [STATE]. See contestant.ts.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { type ClientHttp2Session, connect } from 'node:http2';
import { createInterface } from 'node:readline';
import type { Pod } from 'kubelet-status-manager';
import { Pool } from 'undici';
import type { KubeConfigObject } from '../../test/support/control-plane.ts';
import type { Json } from '../../test/support/kube-http.ts';
import { runningStatus } from '../fixtures.ts';
import { type Command, replyOfThis } from './contestant.ts';
import { changedSuffix } from './node-pods.ts';
import { beginProfile, endProfile } from './profile.ts';

/** As many as the library has. */
const connections = 16;
/** API servers allow 100 streams in a connection, and more on newer ones. */
const watchesPerConnection = 100;
const renewPeriodMs = 10_000;
const leasesPath = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

if (process.env['PROFILE'] !== undefined) await beginProfile();
const [prefix, count, stateFile] = process.argv.slice(2);
const nodeNames = Array.from({ length: Number(count) }, (_, i) => `${prefix}-${i}`);
const { clusters, users } = JSON.parse(readFileSync(process.env['KUBECONFIG']!, 'utf8')) as KubeConfigObject;
const { server, 'certificate-authority-data': caData } = clusters[0]!.cluster;
const ca = Buffer.from(caData, 'base64').toString();
const authorization = `Bearer ${users[0]!.user.token}`;
const pool = new Pool(server, { connections, connect: { ca } });

const pods = new Map<string, Pod>();
/** Of all containers; those of changed pods have been restarted once more. */
let restartCount = stateFile === undefined ? 0 : Number(readFileSync(stateFile, 'utf8'));

const leases = await Promise.all(nodeNames.map(register));
let session: ClientHttp2Session;
nodeNames.forEach((nodeName, i) => {
  if (i % watchesPerConnection === 0) session = connect(server, { ca });
  watchPods(session, nodeName);
});
setInterval(() => leases.forEach((_, i) => void renew(i)), renewPeriodMs);
reply();
for await (const line of createInterface({ input: process.stdin })) {
  await execute(line as Command);
  reply();
}
process.exit();

async function execute(command: Command): Promise<void> {
  if (command === 'change') restartCount++;
  if (command === 'run' || command === 'change' || command === 'stop') {
    for (const pod of pods.values()) void writeStatus(pod, command === 'stop');
  }
  if (command === 'profile') await beginProfile();
  if (command.startsWith('profiled ')) await endProfile(command.slice('profiled '.length));
  if (command.startsWith('save ')) writeFileSync(command.slice('save '.length), String(restartCount));
}

function reply(): void {
  process.stdout.write(`${JSON.stringify(replyOfThis(pods.size))}\n`);
}

async function register(name: string): Promise<Json> {
  await request('POST', '/api/v1/nodes', { metadata: { name } });
  const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime: microTime() };
  const created = await request('POST', leasesPath, { metadata: { name }, spec });
  return created.kind === 'Lease' ? created : request('GET', `${leasesPath}/${name}`);
}

async function renew(index: number): Promise<void> {
  const { metadata, spec } = leases[index];
  const path = `${leasesPath}/${metadata.name}`;
  leases[index] = await request('PUT', path, { metadata, spec: { ...spec, renewTime: microTime() } });
}

function microTime(): string {
  return `${new Date().toISOString().slice(0, -1)}000Z`;
}

function watchPods(session: ClientHttp2Session, nodeName: string): void {
  const stream = session.request({
    ':path': `/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3D${nodeName}`,
    authorization,
    accept: 'application/json',
  });
  let rest = '';
  // The benchmark would wait for events that do not come.
  stream.on('close', () => {
    throw new Error(`the watch of ${nodeName} has ended`);
  });
  stream.setEncoding('utf8').on('data', (text: string) => {
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop()!;
    for (const line of lines) see(JSON.parse(line));
  });
}

function see({ object: pod }: Json): void {
  const isNew = !pods.has(pod.metadata.uid);
  pods.set(pod.metadata.uid, pod);
  if (isNew && stateFile !== undefined && pod.metadata.name.endsWith(changedSuffix)) void writeStatus(pod, false);
}

async function writeStatus({ metadata }: Pod, hasEnded: boolean): Promise<void> {
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  const { uid, namespace, name } = metadata!;
  const isChanged = stateFile !== undefined && name!.endsWith(changedSuffix);
  const status = runningStatus(isChanged ? restartCount + 1 : restartCount, () => now, ['a', 'b']);
  await request(
    'PATCH',
    `/api/v1/namespaces/${namespace}/pods/${name}/status`,
    { metadata: { uid }, status: hasEnded ? { ...status, phase: 'Succeeded' } : status },
    'application/strategic-merge-patch+json',
  );
}

async function request(
  method: 'GET' | 'PATCH' | 'POST' | 'PUT',
  path: string,
  body?: Json,
  type = 'application/json',
): Promise<Json> {
  const response = await pool.request({
    method,
    path,
    headers: { authorization, accept: 'application/json', 'content-type': type },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = (await response.body.json()) as Json;
  // A Node that exists is one of the process before.
  const isExpected = response.statusCode < 300 || (method === 'POST' && response.statusCode === 409);
  if (!isExpected) throw new Error(`${method} ${path}: ${response.statusCode} ${answer.message}`);
  return answer;
}
