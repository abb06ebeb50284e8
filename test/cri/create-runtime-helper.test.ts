import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { createNodeAgent } from '../../src/agent/node-agent/create-node-agent.ts';
import { APIServer } from '../../src/api-server/index.ts';
import { createCRIRuntime } from '../../src/cri/create-cri-runtime.ts';
import { createRuntimeHelper } from '../../src/agent/runtime-helper/create-runtime-helper.ts';
import { createPodClient } from '../../src/kube/http/http-pod-client.ts';
import type { Pod } from '../../src/kube/objects/types.ts';
import { startContainerd, whyNoContainerd } from './containerd.ts';
import { objectTransport } from '../support/object-transport.ts';

const why = whyNoContainerd();
const image = 'docker.io/library/busybox:1';
const sleepForever = 'trap "exit 0" TERM; sleep 1000 & wait';
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe.skipIf(why !== undefined)(
  `pods with ConfigMaps, Secrets and volumes on containerd${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let containerd: Awaited<ReturnType<typeof startContainerd>>;
    let server: APIServer;
    let stop: () => Promise<void>;
    let objects: ReturnType<typeof objectTransport>;

    beforeAll(async () => {
      containerd = await startContainerd(6);
      server = await APIServer.start();
      const cluster = createPodClient(server.kubeconfig()).transport;
      const objectsOfPods = {
        '/api/v1/namespaces/default/configmaps/settings': { data: { color: 'blue', 'a.conf': 'one' } },
        '/api/v1/namespaces/default/secrets/keys': { data: { password: base64('hidden') } },
        '/api/v1/namespaces/default/serviceaccounts/default/token': {
          status: { token: 'a-token', expirationTimestamp: new Date(Date.now() + 3_600_000).toISOString() },
        },
      };
      objects = objectTransport(objectsOfPods, cluster);
      const rootDirectory = `${containerd.folder}/kubelet`;
      const helper = createRuntimeHelper({
        client: { transport: objects.transport },
        rootDirectory,
        clusterDNS: ['10.96.0.10'],
        hostIPs: ['192.0.2.7'],
      });
      const runtime = await createCRIRuntime({
        endpoint: containerd.endpoint,
        helper,
        rootDirectory,
        podLogsDirectory: `${containerd.folder}/logs`,
        cgroupRoot: '/kubepods-volumes',
      });
      const { volumeManager } = helper;
      const agent = createNodeAgent({ nodeName: 'node', client: server.kubeconfig(), runtime, volumeManager });
      agent.start();
      await agent.whenReady();
      stop = async () => {
        await agent.stop({ drain: true, terminatePods: true });
        runtime.close();
        await helper.close();
        await cluster.close();
      };
    });
    afterAll(async () => {
      await stop?.();
      await server?.close();
      await containerd?.stop();
    });

    function createPod(name: string, script: string, container: object, spec: object): void {
      const app = { name: 'app', image, imagePullPolicy: 'IfNotPresent', command: ['sh', '-c', script], ...container };
      server.pods.create({
        metadata: { name, namespace: 'default', labels: { app: name } },
        spec: {
          nodeName: 'node',
          restartPolicy: 'Never',
          terminationGracePeriodSeconds: 1,
          containers: [app],
          ...spec,
        },
      });
      onTestFinished(() => {
        if (server.pods.get('default', name) !== undefined) server.pods.delete('default', name);
      });
    }

    async function podWhen(name: string, isAsWanted: (pod: Pod | undefined) => boolean): Promise<Pod | undefined> {
      let pod: Pod | undefined;
      await expect.poll(() => isAsWanted((pod = server.pods.get('default', name))), { timeout: 20_000 }).toBe(true);
      return pod;
    }
    const messageOf = async (name: string): Promise<string> => {
      const pod = await podWhen(name, (shown) => ['Succeeded', 'Failed'].includes(shown?.status?.phase ?? ''));
      return pod!.status!.containerStatuses![0]!.state!.terminated!.message ?? '';
    };

    it('gets its environment, DNS and hosts', async () => {
      createPod(
        'environment',
        '(echo "$COLOR $PASSWORD $POD_IP/$HOST_IP $KUBERNETES_SERVICE_HOST $(hostname)"; head -1 /etc/resolv.conf; tail -1 /etc/hosts) > /dev/termination-log',
        {
          env: [
            { name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'color' } } },
            { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'keys', key: 'password' } } },
            { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
            { name: 'HOST_IP', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } },
          ],
        },
        { hostname: 'own', subdomain: 'sub' },
      );
      const message = await messageOf('environment');
      const { podIP } = server.pods.get('default', 'environment')!.status!;
      expect(message.trim().split('\n')).toEqual([
        `blue hidden ${podIP}/192.0.2.7 127.0.0.1 own`,
        expect.stringContaining('default.svc.cluster.local'),
        `${podIP}\town.sub.default.svc.cluster.local\town`,
      ]);
    });

    it('gets files of ConfigMaps, Secrets, the downward API and tokens, with modes and group', async () => {
      createPod(
        'files',
        'cd /all && (cat conf password labels token; stat -Lc "%a %g" password token; cat /one; touch /all/x 2>&1 | tail -c 22; stat -fc %T /all) > /dev/termination-log',
        {
          securityContext: { runAsUser: 1000 },
          volumeMounts: [
            { name: 'all', mountPath: '/all' },
            { name: 'config', mountPath: '/one', subPath: 'a.conf' },
          ],
        },
        {
          securityContext: { fsGroup: 3000 },
          serviceAccountName: 'default',
          volumes: [
            { name: 'config', configMap: { name: 'settings' } },
            {
              name: 'all',
              projected: {
                sources: [
                  { configMap: { name: 'settings', items: [{ key: 'a.conf', path: 'conf' }] } },
                  { secret: { name: 'keys', items: [{ key: 'password', path: 'password', mode: 0o400 }] } },
                  { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
                  { serviceAccountToken: { path: 'token' } },
                ],
              },
            },
          ],
        },
      );
      expect(await messageOf('files')).toBe(
        'onehiddenapp="files"a-token440 3000\n640 3000\noneRead-only file system\ntmpfs\n',
      );
    });

    it('shares an emptyDir in memory and a subPath with the mode of its volume between containers, and sees changes of a ConfigMap', async () => {
      const mounts = [
        { name: 'shared', mountPath: '/shared' },
        { name: 'disk', mountPath: '/own', subPathExpr: '$(POD)/deep' },
        { name: 'config', mountPath: '/config' },
      ];
      const env = [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];
      createPod(
        'shares',
        `cat /shared/from-init /own/from-init > /dev/termination-log; stat -fc %T /shared >> /dev/termination-log; stat -c '%a %g' /own /shared >> /dev/termination-log; until grep -q two /config/a.conf; do sleep 0.1; done`,
        { volumeMounts: mounts, env },
        {
          securityContext: { fsGroup: 3000 },
          initContainers: [
            {
              name: 'init',
              image,
              imagePullPolicy: 'IfNotPresent',
              command: ['sh', '-c', 'echo a > /shared/from-init; echo b > /own/from-init'],
              volumeMounts: mounts,
              env,
            },
          ],
          volumes: [
            { name: 'shared', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
            { name: 'disk', emptyDir: {} },
            { name: 'config', configMap: { name: 'settings' } },
          ],
        },
      );
      await podWhen('shares', (pod) => pod?.status?.phase === 'Running');
      objects.set('/api/v1/namespaces/default/configmaps/settings', { data: { color: 'blue', 'a.conf': 'two' } });
      // An update of the pod leads to a sync; without one, it takes up to a minute. A sync may use what was read less than
      // a second before.
      let updates = 0;
      const hasEnded = (): boolean => {
        server.pods.patch('default', 'shares', { metadata: { annotations: { now: String(updates++) } } });
        return server.pods.get('default', 'shares')?.status?.phase === 'Succeeded';
      };
      await expect.poll(hasEnded, { timeout: 20_000, interval: 500 }).toBe(true);
      expect(await messageOf('shares')).toBe('a\nb\ntmpfs\n2777 3000\n3777 3000\n');
    });

    it('waits with the reason for a ConfigMap that does not exist, and starts when it does', async () => {
      const env = [{ name: 'LATE', valueFrom: { configMapKeyRef: { name: 'late', key: 'key' } } }];
      createPod('waits', 'echo $LATE > /dev/termination-log', { env }, {});
      const waiting = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0]?.state?.waiting;
      const pod = await podWhen('waits', (shown) => waiting(shown)?.reason === 'CreateContainerConfigError');
      expect(waiting(pod)!.message).toBe('configmap "late" not found');
      objects.set('/api/v1/namespaces/default/configmaps/late', { data: { key: 'here' } });
      expect(await messageOf('waits')).toBe('here\n');
    });

    it('evicts a pod whose emptyDir exceeds its sizeLimit', async () => {
      createPod(
        'fills',
        'head -c 100000 /dev/zero > /disk/file; sleep 1000',
        { volumeMounts: [{ name: 'disk', mountPath: '/disk' }] },
        { volumes: [{ name: 'disk', emptyDir: { sizeLimit: '10Ki' } }] },
      );
      const pod = await podWhen('fills', (shown) => shown?.status?.phase === 'Failed');
      expect(pod?.status).toMatchObject({
        reason: 'Evicted',
        message: 'Usage of EmptyDir volume "disk" exceeds the limit "10Ki". ',
      });
    });

    it('leaves no mount and no volume behind', async () => {
      const mounts = [
        { name: 'secret', mountPath: '/secret' },
        { name: 'disk', mountPath: '/disk', subPath: 'below' },
      ];
      createPod(
        'leaves',
        sleepForever,
        { volumeMounts: mounts },
        {
          volumes: [
            { name: 'secret', secret: { secretName: 'keys' } },
            { name: 'disk', emptyDir: {} },
          ],
        },
      );
      const pod = await podWhen('leaves', (shown) => shown?.status?.phase === 'Running');
      const folder = `${containerd.folder}/kubelet/pods/${pod!.metadata!.uid}`;
      const mountsOf = async () => {
        const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
        return lines.filter((line) => line.includes(folder)).length;
      };
      expect(await mountsOf()).toBe(2);
      server.pods.delete('default', 'leaves');
      await podWhen('leaves', (shown) => shown === undefined);
      expect(await mountsOf()).toBe(0);
      expect(existsSync(`${folder}/volumes`)).toBe(false);
      expect(await readdir(folder)).not.toContain('volume-subpaths');
    });

    it('evicts pods that exceed their limits of local storage', async () => {
      const volumes = [{ name: 'data', emptyDir: { sizeLimit: '1Mi' } }];
      const volumeMounts = [{ name: 'data', mountPath: '/data' }];
      const write = (path: string): string => `dd if=/dev/zero of=${path} bs=1M count=3 2>/dev/null; sleep 1000`;
      createPod('fills-volume', write('/data/big'), { volumeMounts }, { volumes });
      createPod('fills-layer', write('/big'), { resources: { limits: { 'ephemeral-storage': '2Mi' } } }, {});
      const evictions = () =>
        ['fills-layer', 'fills-volume'].map((name) => {
          const { reason, message } = server.pods.get('default', name)?.status ?? {};
          return `${reason}: ${message}`;
        });
      await expect
        .poll(evictions, { timeout: 60_000 })
        .toEqual([
          'Evicted: Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. ',
          'Evicted: Usage of EmptyDir volume "data" exceeds the limit "1Mi". ',
        ]);
    });
  },
);
