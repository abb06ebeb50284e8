import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { networkInterfaces } from 'node:os';
import { PassThrough, Readable } from 'node:stream';
import type { Attach, V1Status } from '@kubernetes/client-node';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { systemClock } from 'kubelet-status-manager';
import type { KubeTransport } from 'kubelet-status-manager/http';
import { createInformerPodManager, type InformerPodManager } from 'kubelet-status-manager/informer';
import {
  createVirtualNodes,
  type PodProvider,
  ProviderError,
  type VirtualNodes,
} from 'kubelet-status-manager/virtual-nodes';
import { recordingLogger } from 'kubelet-status-manager/testing';
import { type KubeletAPIServer, serveKubeletAPI } from '../../src/kubelet-api/serve-kubelet-api.ts';
import type { Summary } from '../../src/kubelet-api/stats-summary.ts';
import { certificateFile } from '../kubelet-api/test-server.ts';
import { createKubeTransport } from '../../src/kube/http/transport.ts';
import { kubeConfigOf } from '../contract/kube-config-of.ts';
import { expectOk } from '../contract/pod-api.ts';
import { type ContractServer, contractServers, START_TIMEOUT_MS } from '../contract/servers.ts';
import { isReady, untilShown } from '../contract/until-shown.ts';
import { TestDirectories } from '../support/directories.ts';
import { loadClientNode } from '../support/client-node.ts';
import { FakeCloud } from './fake-cloud.ts';

const nodeName = 'virtual-c';
const nodeNames = [nodeName, 'virtual-d'];
/** Where an API server proxies requests to: not to loopback addresses. */
const ownAddress = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

const hasKubectl = spawnSync('kubectl', ['version', '--client']).error === undefined;
const directories = new TestDirectories();
afterAll(() => directories.removeAll());

describe.each(contractServers)('virtual nodes: $name', (kind) => {
  let server: ContractServer;
  let nodes: VirtualNodes | undefined;
  let transport: KubeTransport | undefined;
  let seen: InformerPodManager | undefined;
  let kubelets: KubeletAPIServer[] = [];
  afterEach(async () => {
    await nodes?.stop();
    await Promise.all(kubelets.map((kubelet) => kubelet.close()));
    kubelets = [];
    await seen?.stop();
    await transport?.close();
    await server?.stop();
  });

  const kubeConfig = () => kubeConfigOf(server, server.adminToken);

  /** Starts two nodes at the address `host`, where `kubeletsOf` them are served to everybody. */
  async function startServed(
    provider: PodProvider,
    kubeletsOf: (nodes: VirtualNodes) => readonly VirtualNodes['kubelet'][],
    host = '127.0.0.1',
  ): Promise<KubeTransport> {
    const added = createVirtualNodes({ client: kubeConfig(), provider, listPeriodMs: 200, logger: recordingLogger() });
    nodes = added;
    const nodeStatus = () => ({ capacity: { cpu: '100', memory: '100Gi', pods: '1000' } });
    for (const name of nodeNames) added.add({ nodeName: name, addresses: [host], nodeStatus });
    for (const kubelet of kubeletsOf(added))
      kubelets.push(
        await serveKubeletAPI(kubelet, {
          ...{ runtime: kubelet, host, port: 0, logger: recordingLogger() },
          tlsCertFile: certificateFile('server'),
          tlsPrivateKeyFile: certificateFile('server.key'),
          authentication: { anonymous: true },
          authorization: { mode: 'AlwaysAllow' },
        }),
      );
    added.start();
    await added.whenReady();
    transport = createKubeTransport(kubeConfig());
    return transport;
  }

  /** Creates the pod `on-NODE`. Resolves with its path when it runs. */
  async function runPodOn(node: string): Promise<string> {
    await server.pods.create(`on-${node}`, {
      spec: { nodeName: node, containers: [{ name: 'app', image: 'app:1' }], terminationGracePeriodSeconds: 0 },
    });
    const path = `/api/v1/namespaces/default/pods/on-${node}`;
    await expect
      .poll(async () => (await transport!.request('GET', path)).json(), { timeout: 20_000 })
      .toMatchObject({ status: { phase: 'Running' } });
    return path;
  }

  it.runIf(kind.available)(
    'register their Node, create, report, update and delete pods in the cloud, and are continued by another process',
    async () => {
      server = await kind.start();
      const logger = recordingLogger();
      const cloud = new FakeCloud({ clock: systemClock, startMs: 100, stopMs: 100 });
      const start = async (): Promise<void> => {
        nodes = createVirtualNodes({ client: kubeConfig(), provider: cloud, listPeriodMs: 200, logger });
        const capacity = { cpu: '100', memory: '100Gi', pods: '1000' };
        nodes.add({ nodeName, addresses: ['10.1.2.3'], nodeStatus: () => ({ capacity }) });
        nodes.start();
        await nodes.whenReady();
      };
      await start();
      transport = createKubeTransport(kubeConfig());
      seen = createInformerPodManager({ client: { transport }, nodeName });
      seen.start();
      const create = async (name: string): Promise<void> => {
        const spec = { nodeName, containers: [{ name: 'app', image: 'app:1' }], terminationGracePeriodSeconds: 5 };
        await server.pods.create(name, { spec: { ...spec, restartPolicy: 'Never' } });
      };

      await create('web');
      const web = await untilShown(seen, 'web', isReady);
      expect(web?.status).toMatchObject({
        hostIP: '10.1.2.3',
        podIP: '10.0.0.1',
        containerStatuses: [{ started: true }],
      });
      await create('job');
      await untilShown(seen, 'job', isReady);
      cloud.stop('job', 3);
      const job = await untilShown(seen, 'job', (pod) => pod?.status?.phase === 'Failed');
      expect(job?.status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 3, reason: 'Error' });

      const refusal = new ProviderError('There is no such GPU', { permanent: true, reason: 'NoSuchGPU' });
      cloud.react('createPod', (pod) => (pod?.name === 'refused' ? refusal : undefined));
      await create('refused');
      const refused = await untilShown(seen, 'refused', (pod) => pod?.status?.phase === 'Failed');
      expect(refused?.status).toMatchObject({ reason: 'NoSuchGPU', message: 'There is no such GPU' });

      await nodes!.stop({ drain: true });
      await transport.request('PATCH', '/api/v1/namespaces/default/pods/web', {
        contentType: 'application/merge-patch+json',
        body: { metadata: { labels: { tier: 'front' } } },
      });
      const elsewhere = await server.pods.create('elsewhere', { spec: { nodeName: 'node-x' } });
      const reported = { namespace: 'default', nodeName, state: 'running' } as const;
      cloud.add({ ...reported, uid: elsewhere.metadata.uid as string, name: 'elsewhere' });
      cloud.add({ ...reported, uid: 'u-gone', name: 'gone' });
      await start();
      await expect
        .poll(() => cloud.updates)
        .toMatchObject([{ pod: { metadata: { name: 'web', labels: { tier: 'front' } } } }]);
      for (const name of ['web', 'job', 'refused']) {
        const isGone = untilShown(seen, name, (pod) => pod === undefined);
        expectOk(await server.pods.delete(name));
        await isGone;
      }
      await expect.poll(() => cloud.names).toEqual(['elsewhere']);
      expect(cloud.callsOf('createPod').toSorted()).toEqual(['createPod job', 'createPod refused', 'createPod web']);
      const reason = expect.stringContaining('the API server has it on node node-x') as string;
      expect(logger.errors).toMatchObject([{ fields: { reason } }]);
    },
    START_TIMEOUT_MS,
  );

  it.runIf(kind.available && kind !== contractServers[0])(
    'serve logs, exec, attach and port-forward of all nodes on one port, over its proxy to the Node (virtual-kubelet #1142)',
    async () => {
      server = await kind.start();
      const cloud = new FakeCloud({ clock: systemClock, startMs: 100, stopMs: 100 });
      const provider = cloud.asProvider({
        logs: async ({ name }, container, { tailLines }) =>
          Readable.from([Buffer.from(`${name} ${container} ${tailLines}\n`)]),
        exec: async ({ name }, container, command, io) => {
          io.stdout!.write(`${name} ${container} ${command.join(' ')}: ${await text(io.stdin!)}`);
          io.stderr!.write('a warning');
          return 3;
        },
        attach: async ({ name }, container, io) => {
          io.stdout!.write(`${name} ${container}: ${await text(io.stdin!)}`);
        },
        portForward: async ({ name }, port, stream) => {
          if (port === 81) throw new Error('the cloud has no such port');
          stream.write(`${name} ${port}: `);
          await pipeline(stream, stream);
        },
      });
      const client = await startServed(provider, ({ kubelet }) => [kubelet]);
      for (const name of nodeNames) {
        const path = await runPodOn(name);
        const log = await client.request('GET', `${path}/log`, { query: { tailLines: 2 } });
        expect(log.text).toBe(`on-${name} app 2\n`);
        const { Attach, Exec, KubeConfig, PortForward } = await loadClientNode();
        const kubectl = new KubeConfig();
        kubectl.loadFromString(JSON.stringify(kubeConfig()));
        const pod = ['default', `on-${name}`, 'app'] as const;
        const exec = new Exec(kubectl);
        const executed = await outcomeOf((stdin, stdout, stderr, onStatus) =>
          exec.exec(...pod, ['sh', '-c', 'cat'], stdout, stderr, stdin, false, onStatus),
        );
        expect(executed).toMatchObject({
          ...{ stdout: `on-${name} app sh -c cat: typed`, stderr: 'a warning' },
          status: { reason: 'NonZeroExitCode', details: { causes: [{ reason: 'ExitCode', message: '3' }] } },
        });
        const attached = await outcomeOf((stdin, stdout, stderr) =>
          new Attach(kubectl).attach(...pod, stdout, stderr, stdin, false),
        );
        expect(attached).toMatchObject({ stdout: `on-${name} app: typed`, stderr: '' });
        for (const [port, expected] of [
          [80, [`on-${name} 80: typed`, '']],
          [81, ['', expect.stringContaining('the cloud has no such port')]],
        ] as const) {
          const [input, output, errors] = [new PassThrough(), new PassThrough(), new PassThrough()];
          const webSocket = await new PortForward(kubectl).portForward(
            'default',
            pod[1],
            [port],
            output,
            errors,
            input,
          );
          input.write('typed');
          const received = { output: '', errors: '' };
          output.on('data', (chunk: Buffer) => (received.output += chunk.toString()));
          errors.on('data', (chunk: Buffer) => (received.errors += chunk.toString()));
          await expect.poll(() => [received.output, received.errors]).toEqual(expected);
          if (typeof webSocket !== 'function') webSocket.close();
        }
      }
    },
    START_TIMEOUT_MS,
  );

  it.runIf(kind.available && kind !== contractServers[0] && hasKubectl)(
    'serve kubectl exec, over SPDY and WebSockets, and port-forward, whose errors kubectl shows (skipped without kubectl)',
    async () => {
      server = await kind.start();
      const cloud = new FakeCloud({ clock: systemClock, startMs: 100, stopMs: 100 });
      const provider = cloud.asProvider({
        exec: async ({ name }, container, command, io) => {
          io.stdout!.write(`${name} ${container} ${command.join(' ')}: ${await text(io.stdin!)}`);
          return 3;
        },
        portForward: async ({ name }, port, stream) => {
          if (port === 81) throw new Error('the cloud has no such port');
          const reply = async function* (source: AsyncIterable<Buffer>): AsyncGenerator<string | Buffer> {
            yield `${name} ${port}: `;
            yield* source;
          };
          await pipeline(stream, reply, stream);
        },
      });
      await startServed(provider, ({ kubelet }) => [kubelet]);
      await runPodOn(nodeName);
      const folder = directories.create();
      const file = join(folder, 'kubeconfig');
      writeFileSync(file, JSON.stringify({ ...kubeConfig(), apiVersion: 'v1', kind: 'Config' }));
      for (const isWebSocket of ['true', 'false']) {
        const env = { ...process.env, KUBECTL_REMOTE_COMMAND_WEBSOCKETS: isWebSocket };
        const args = ['--kubeconfig', file, 'exec', '-i', `on-${nodeName}`, '--', 'cat', '-'];
        const { status, stdout } = await runWithInput('kubectl', args, 'x'.repeat(100_000), env);
        expect({ status, stdout }).toEqual({ status: 3, stdout: `on-${nodeName} app cat -: ${'x'.repeat(100_000)}` });
      }
      const child = spawn('kubectl', ['--kubeconfig', file, 'port-forward', `pod/on-${nodeName}`, ':80', ':81']);
      let output = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
      const exited = once(child, 'exit');
      await expect.poll(() => output).toMatch(/-> 81\n[^]*-> 81\n/);
      const portOf = (port: number): number => Number(new RegExp(`127.0.0.1:(\\d+) -> ${port}`).exec(output)![1]);
      for (const size of [10, 1_000_000]) {
        const socket = connect(portOf(80), '127.0.0.1').end('x'.repeat(size));
        expect(await text(socket)).toBe(`on-${nodeName} 80: ${'x'.repeat(size)}`);
      }
      await text(connect(portOf(81), '127.0.0.1').end('x')).catch(() => {});
      await exited;
      expect(output).toContain('the cloud has no such port');
    },
    START_TIMEOUT_MS,
  );

  it.runIf(kind.available && kind !== contractServers[0] && ownAddress !== undefined)(
    'serve the statistics of each node on its own port, over its proxy, too (skipped on machines without a network)',
    async () => {
      server = await kind.start();
      const cloud = new FakeCloud({ clock: systemClock, startMs: 100, stopMs: 100 });
      const time = '2026-01-02T03:04:05Z';
      const provider = cloud.asProvider({
        stats: async (options) =>
          (await cloud.listPods(options)).map(({ uid, namespace, name }) => ({
            ...{ podRef: { uid, namespace, name }, startTime: time },
            containers: [{ name: 'app', startTime: time, memory: { time, workingSetBytes: 4096 } }],
          })),
      });
      const client = await startServed(provider, (added) => nodeNames.map((name) => added.kubeletOf(name)), ownAddress);
      for (const name of nodeNames) await runPodOn(name);
      for (const name of nodeNames) {
        const path = `/api/v1/nodes/${name}/proxy`;
        const { node, pods } = (await client.request('GET', `${path}/stats/summary`)).json() as Summary;
        expect([node.nodeName, pods.map(({ podRef }) => podRef.name)]).toEqual([name, [`on-${name}`]]);
        const { text } = await client.request('GET', `${path}/metrics/resource`);
        expect(text.match(/^container_memory.*/gm)).toEqual([
          `container_memory_working_set_bytes{container="app",namespace="default",pod="on-${name}"} 4096 1767323045000`,
        ]);
      }
    },
    START_TIMEOUT_MS,
  );
});

async function runWithInput(command: string, args: readonly string[], input: string, env: NodeJS.ProcessEnv) {
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(input);
  const [stdout, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return { stdout, status: status as number };
}

type Connect = (
  ...streams: [stdin: PassThrough, stdout: PassThrough, stderr: PassThrough, onStatus: (status: V1Status) => void]
) => ReturnType<Attach['attach']>;

/** What a client gets that types `typed`, and then ends its input. */
async function outcomeOf(connect: Connect): Promise<object> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let status: V1Status | undefined;
  const socket = await connect(stdin, stdout, stderr, (received) => (status = received));
  stdin.end('typed');
  await new Promise((resolve) => socket.on('close', resolve));
  return { stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? ''), status };
}
