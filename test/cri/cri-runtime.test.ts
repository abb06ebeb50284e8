import { existsSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createNodeAgent } from '../../src/agent/node-agent/create-node-agent.ts';
import { APIServer } from '../../src/api-server/index.ts';
import { createCRIRuntime, type CRIRuntimeOptions } from '../../src/cri/create-cri-runtime.ts';
import type { RuntimeHelper } from '../../src/node/container-options/runtime-helper.ts';
import { createPodClient } from '../../src/kube/http/http-pod-client.ts';
import type { Pod } from '../../src/kube/objects/types.ts';
import { otherRuntime, startContainerd, whyNoContainerd } from './containerd.ts';

const why = whyNoContainerd();
const image = 'docker.io/library/busybox:1';
const sleepForever = ['sh', '-c', 'trap "exit 0" TERM; sleep 1000 & wait'];

const helper: RuntimeHelper = {
  generateRunContainerOptions: async (_pod, { command = [], args = [], env = [] }, podIPs) => ({
    ...{ command, args },
    envs: [...env.map(({ name, value = '' }) => ({ name, value })), { name: 'POD_IP', value: podIPs[0] ?? '' }],
    mounts: [],
  }),
  getPodDNS: async () => ({ servers: ['10.0.0.10'], searches: [], options: [] }),
  generatePodHostName: ({ metadata }) => metadata.name,
  lookupRuntimeHandler: async () => '',
  pullCredentials: async () => ({ credentials: [], missingSecrets: [] }),
};

describe.skipIf(why !== undefined)(
  `the CRI runtime on containerd${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let containerd: Awaited<ReturnType<typeof startContainerd>>;
    let server: APIServer;
    beforeAll(async () => {
      containerd = await startContainerd();
      server = await APIServer.start();
    });
    afterAll(async () => {
      await server.close();
      await containerd.stop();
    });

    async function startAgent(options: Partial<CRIRuntimeOptions> = {}) {
      const runtime = await createCRIRuntime({
        endpoint: containerd.endpoint,
        helper,
        rootDirectory: `${containerd.folder}/kubelet`,
        podLogsDirectory: `${containerd.folder}/logs`,
        cgroupRoot: '/kubepods-test',
        ...options,
      });
      const agent = createNodeAgent({
        nodeName: 'node',
        client: server.kubeconfig(),
        runtime,
        node: { addresses: ['127.0.0.1'] },
      });
      agent.start();
      await agent.whenReady();
      const stop = async (options = {}) => {
        await agent.stop({ drain: true, ...options });
        runtime.close();
      };
      return { agent, runtime, stop };
    }

    function createPod(name: string, container: object, spec: object = {}): void {
      server.pods.create({
        metadata: { name, namespace: 'default' },
        spec: {
          nodeName: 'node',
          restartPolicy: 'Never',
          terminationGracePeriodSeconds: 1,
          containers: [{ name: 'app', image, imagePullPolicy: 'IfNotPresent', ...container }],
          ...spec,
        },
      });
    }

    /** The pod as soon as its status is as wanted, or it is gone. */
    async function podWhen(name: string, isAsWanted: (pod: Pod | undefined) => boolean): Promise<Pod | undefined> {
      let pod: Pod | undefined;
      await expect.poll(() => isAsWanted((pod = server.pods.get('default', name))), { timeout: 15_000 }).toBe(true);
      return pod;
    }
    const hasPhase = (phase: string) => (pod: Pod | undefined) => pod?.status?.phase === phase;

    it('runs a pod to its end, with its environment, exit code and termination message', async () => {
      const { stop } = await startAgent();
      onTestFinished(() => stop({ terminatePods: true }));
      createPod('ends', {
        env: [{ name: 'GREETING', value: 'bye' }],
        command: ['sh', '-c', 'echo -n "$GREETING $(hostname) $POD_IP" >/dev/termination-log; exit 3'],
      });
      const pod = await podWhen('ends', hasPhase('Failed'));
      const { podIP, containerStatuses } = pod!.status!;
      expect(podIP).toMatch(/^10\./);
      expect(containerStatuses![0]).toMatchObject({
        imageID: expect.stringMatching(/sha256:[0-9a-f]{64}$/),
        state: { terminated: { exitCode: 3, reason: 'Error', message: `bye ends ${podIP}` } },
      });
    });

    // CRI-O looks for the command when it creates the container.
    it.skipIf(otherRuntime !== undefined)('shows why a container cannot be started', async () => {
      const { stop } = await startAgent();
      onTestFinished(() => stop({ terminatePods: true }));
      createPod('no-command', { command: ['missing'] });
      const pod = await podWhen('no-command', hasPhase('Failed'));
      expect(pod!.status!.containerStatuses![0]!.state!.terminated).toMatchObject({
        exitCode: 128,
        reason: 'StartError',
        startedAt: '1970-01-01T00:00:00Z',
      });
    });

    it('the error of a command that cannot be executed has the prefix of gRPC', async () => {
      const { runtime, stop } = await startAgent();
      onTestFinished(() => stop());
      await expect(runtime.execSync('containerd://none', ['true'], 1000)).rejects.toThrow(
        /^rpc error: code = NotFound desc = /,
      );
    });

    it('says that the runtime and its network are ready', async () => {
      const { stop, runtime } = await startAgent();
      onTestFinished(() => stop());
      // containerd 2 has more, for its deprecated settings.
      expect((await runtime.status()).conditions).toMatchObject(
        expect.arrayContaining([
          expect.objectContaining({ type: 'RuntimeReady', status: true }),
          expect.objectContaining({ type: 'NetworkReady', status: true }),
        ]),
      );
    });

    it('rotates logs, links to them, and removes logs and cgroups of removed pods', async () => {
      const { agent, stop, runtime } = await startAgent({ containerLogMaxSizeBytes: 100, containerLogMaxFiles: 2 });
      onTestFinished(() => stop({ terminatePods: true }));
      createPod('talks', { command: ['sh', '-c', 'trap "exit 0" TERM; while :; do echo a line; sleep 0.1; done'] });
      const { metadata } = (await podWhen('talks', hasPhase('Running')))!;
      const folder = `${containerd.folder}/logs/default_talks_${metadata!.uid}/app`;
      await expect.poll(() => readdir(folder), { timeout: 30_000 }).toHaveLength(2);
      expect(await readdir(folder)).toEqual(['0.log', expect.stringMatching(/^0\.log\.\d{8}-\d{6}$/)]);
      await expect.poll(() => readFile(`${folder}/0.log`, 'utf8')).toContain(' stdout F a line');
      const links = `${containerd.folder}/containers`;
      const [link] = (await readdir(links)).filter((name) => name.startsWith('talks_default_app-'));
      expect(await readlink(`${links}/${link}`)).toBe(`${folder}/0.log`);

      const cgroups = ['/sys/fs/cgroup', '/sys/fs/cgroup/pids'].map(
        (mountPoint) => `${mountPoint}/kubepods-test/besteffort/pod${metadata!.uid}`,
      );
      const hasCgroup = (): boolean => cgroups.some((path) => existsSync(path));
      expect(hasCgroup()).toBe(true);

      server.pods.delete('default', 'talks');
      await podWhen('talks', (pod) => pod === undefined);
      const removeContent = () => runtime.removePodContent((podUID) => agent.shouldPodContentBeRemoved(podUID));
      await expect.poll(async () => [await removeContent(), existsSync(folder)][1]).toBe(false);
      await expect.poll(async () => [await removeContent(), await readdir(links)][1]).not.toContain(link);
      await expect.poll(async () => [await removeContent(), hasCgroup()][1]).toBe(false);
    });

    it('the cgroup of a pod has the limits of the pod, also after a resize', async () => {
      const { stop } = await startAgent();
      onTestFinished(() => stop({ terminatePods: true }));
      const resources = (cpu: string, memory: string) => ({ resources: { limits: { cpu, memory } } });
      createPod('limited', { command: sleepForever, ...resources('200m', '64Mi') }, { restartPolicy: 'Always' });
      const { metadata } = (await podWhen('limited', hasPhase('Running')))!;
      const limits = async (): Promise<string[]> => {
        const cgroup = `kubepods-test/pod${metadata!.uid}`;
        const read = async (path: string) => (await readFile(`/sys/fs/cgroup/${path}`, 'utf8')).trim();
        if (existsSync('/sys/fs/cgroup/cgroup.controllers'))
          return [
            await read(`${cgroup}/memory.max`),
            (await read(`${cgroup}/cpu.max`)).split(' ')[0]!,
            await read(`${cgroup}/cpu.weight`),
          ];
        return [
          await read(`memory/${cgroup}/memory.limit_in_bytes`),
          await read(`cpu/${cgroup}/cpu.cfs_quota_us`),
          await read(`cpu/${cgroup}/cpu.shares`),
        ];
      };
      const cpu = (shares: string, weight: string) =>
        existsSync('/sys/fs/cgroup/cgroup.controllers') ? weight : shares;
      expect(await limits()).toEqual([String(64 * 2 ** 20), '20000', cpu('204', '8')]);

      const { transport } = createPodClient(server.kubeconfig());
      onTestFinished(() => transport.close());
      const { limits: list } = resources('400m', '48Mi').resources;
      await transport.request('PATCH', '/api/v1/namespaces/default/pods/limited/resize', {
        body: { spec: { containers: [{ name: 'app', resources: { limits: list, requests: list } }] } },
        contentType: 'application/strategic-merge-patch+json',
      });
      await expect.poll(limits, { timeout: 15_000 }).toEqual([String(48 * 2 ** 20), '40000', cpu('409', '16')]);
    });

    it('lists images with their names and sizes, and removes one with all its names', async () => {
      const { stop, runtime } = await startAgent();
      onTestFinished(() => stop());
      const find = async () =>
        (await runtime.listImages()).find(({ names }) => names?.some((n) => n.includes('nginx')));
      const nginx = await find();
      expect(nginx).toMatchObject({ id: expect.stringMatching(/^(sha256:)?[0-9a-f]{64}$/) as string, pinned: false });
      expect(nginx!.names).toContain('registry.k8s.io/e2e-test-images/nginx:1.27.0-2');
      expect(nginx!.sizeBytes).toBeGreaterThan(1_000_000);
      await runtime.removeImage(nginx!.id);
      expect(await find()).toBeUndefined();
    });

    it.skipIf(otherRuntime !== undefined)('shows why an image cannot be pulled', async () => {
      const { stop } = await startAgent();
      onTestFinished(() => stop({ terminatePods: true }));
      const waiting = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0]?.state?.waiting;
      createPod('bad-name', { image: 'Example.COM/Bad:1' });
      expect(waiting(await podWhen('bad-name', (pod) => waiting(pod)?.reason === 'InvalidImageName'))?.message).toBe(
        'Failed to apply default image tag "Example.COM/Bad:1": couldn\'t parse image name "Example.COM/Bad:1": invalid reference format: repository name (Bad) must be lowercase',
      );
      createPod('no-registry', { image: '127.0.0.1:9/app:1' });
      expect(waiting(await podWhen('no-registry', (pod) => waiting(pod)?.reason === 'ErrImagePull'))?.message).toMatch(
        /^failed to pull and unpack image "127\.0\.0\.1:9\/app:1": /,
      );
    });

    it('restarts a container that has ended', async () => {
      const { stop } = await startAgent();
      onTestFinished(() => stop({ terminatePods: true }));
      createPod('restarts', { command: ['sh', '-c', 'sleep 0.2; exit 1'] }, { restartPolicy: 'Always' });
      const pod = await podWhen('restarts', (shown) => shown?.status?.containerStatuses?.[0]?.restartCount === 1);
      expect(pod!.status!.containerStatuses![0]!.lastState!.terminated).toMatchObject({ exitCode: 1, reason: 'Error' });
    });

    it('executes probes, and the next agent adopts the pod without a change', async () => {
      const first = await startAgent();
      createPod(
        'stays',
        {
          command: sleepForever,
          resources: { limits: { cpu: '100m', memory: '64Mi' } },
          readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1 },
        },
        { restartPolicy: 'Always' },
      );
      const isReady = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0]?.ready === true;
      const before = await podWhen('stays', isReady);
      await first.stop();
      const { stop } = await startAgent();
      onTestFinished(() => stop({ terminatePods: true }));
      const after = await podWhen('stays', isReady);
      expect(after!.status).toEqual(before!.status);
    });

    it('stops the containers and the sandbox of a deleted pod', async () => {
      const { stop, runtime } = await startAgent();
      onTestFinished(() => stop({ terminatePods: true }));
      createPod('goes', { command: sleepForever }, { restartPolicy: 'Always' });
      const pod = await podWhen('goes', hasPhase('Running'));
      server.pods.delete('default', 'goes');
      await podWhen('goes', (shown) => shown === undefined);
      const { sandboxes = [], containers = [] } = (await runtime.getPod(pod!.metadata!.uid!)) ?? {};
      expect(sandboxes.some(({ ready }) => ready)).toBe(false);
      expect(containers.some(({ state }) => state === 'running')).toBe(false);
    });
  },
);
