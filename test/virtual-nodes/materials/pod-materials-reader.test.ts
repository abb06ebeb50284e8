import { describe, expect, it, onTestFinished } from 'vitest';
import type { Pod, ValidPod } from 'kubelet-status-manager';
import { createPodClient } from 'kubelet-status-manager/http';
import { ProviderError, type PodMaterials } from 'kubelet-status-manager/virtual-nodes';
import { APIServer, FakeClock, silentLogger } from 'kubelet-status-manager/testing';
import { PodMaterialsReader } from '../../../src/virtual-nodes/materials/pod-materials-reader.ts';
import { podScope, podScopes } from '../../support/pod-scope.ts';

const node = { hostIPs: ['192.0.2.7'], allocatable: { cpu: '8', memory: '16Gi' } };
const megabyte = 1024 * 1024;

/** An API server, and a reader as the user of node-a, who may only read what the pods of the node refer to. */
async function start() {
  const clock = new FakeClock('2026-01-02T03:04:05Z');
  const server = await APIServer.start({ tls: false, nodeUsers: ['node-a'], clock });
  const { transport } = createPodClient(server.kubeconfig('node-a'), { logger: silentLogger });
  const reader = new PodMaterialsReader({
    transport,
    requests: transport,
    clock,
    random: () => 0,
    logger: silentLogger,
  });
  onTestFinished(async () => {
    await reader.close();
    await transport.close();
    await server.close();
  });
  const createPod = (spec: object, metadata: object = {}): ValidPod =>
    server.pods.create({
      metadata: { name: 'p', ...metadata },
      spec: { nodeName: 'node-a', containers: [{ name: 'app', image: 'app:1' }], ...spec },
    });
  const scopes = podScopes();
  const read = (pod: Pod) => reader.read(pod as ValidPod, node, scopes.open(pod));
  return { clock, server, reader, createPod, read };
}

function envOf({ containers }: PodMaterials, container = 'app'): Record<string, string> {
  return Object.fromEntries(containers.get(container)!.env.map(({ name, value }) => [name, value]));
}

function filesOf({ volumes }: PodMaterials, volume = 'v'): Record<string, string> {
  return Object.fromEntries(
    volumes
      .get(volume)!
      .map(({ path, content, mode }) => [path, `${mode.toString(8)} ${Buffer.from(content).toString()}`]),
  );
}

const dockerConfig = (auths: object): object => ({
  type: 'kubernetes.io/dockerconfigjson',
  stringData: { '.dockerconfigjson': JSON.stringify({ auths }) },
});

describe('the environment of a container', () => {
  it('has all sources in order, with the variables of Services last, and its command and arguments are expanded', async () => {
    const { server, createPod, read } = await start();
    server.configMaps.create({ metadata: { name: 'settings' }, data: { LEVEL: 'high', PORT: '80' } });
    server.secrets.create({ metadata: { name: 'login' }, stringData: { password: 'hunter2' } });
    const from = (valueFrom: object) => ({ valueFrom });
    const pod = createPod({
      initContainers: [{ name: 'init', image: 'app:1', env: [{ name: 'A', value: 'b' }] }],
      containers: [
        {
          ...{ name: 'app', image: 'app:1', command: ['run', '$(PORT)'], args: ['--url=$(URL)', '$$(URL)'] },
          resources: { limits: { cpu: '2' } },
          envFrom: [{ configMapRef: { name: 'settings' } }, { prefix: 'S_', secretRef: { name: 'login' } }],
          env: [
            { name: 'PORT', value: '8080' },
            { name: 'URL', value: 'http://$(NAME):$(PORT)/$(KUBERNETES_SERVICE_HOST)' },
            { name: 'NAME', ...from({ fieldRef: { fieldPath: 'metadata.name' } }) },
            { name: 'NODE', ...from({ fieldRef: { fieldPath: 'spec.nodeName' } }) },
            { name: 'HOST', ...from({ fieldRef: { fieldPath: 'status.hostIP' } }) },
            { name: 'CPU', ...from({ resourceFieldRef: { resource: 'limits.cpu' } }) },
            { name: 'MEMORY', ...from({ resourceFieldRef: { resource: 'limits.memory', divisor: '1Gi' } }) },
            { name: 'LEVEL2', ...from({ configMapKeyRef: { name: 'settings', key: 'LEVEL' } }) },
            { name: 'PASSWORD', ...from({ secretKeyRef: { name: 'login', key: 'password' } }) },
          ],
        },
      ],
    });
    const materials = await read(pod);
    expect(envOf(materials)).toMatchObject({
      ...{ LEVEL: 'high', S_password: 'hunter2', PORT: '8080', URL: 'http://$(NAME):8080/127.0.0.1', NAME: 'p' },
      ...{ NODE: 'node-a', HOST: '192.0.2.7', CPU: '2', MEMORY: '16', LEVEL2: 'high', PASSWORD: 'hunter2' },
      KUBERNETES_SERVICE_HOST: '127.0.0.1',
    });
    expect(envOf(materials, 'init')).toMatchObject({ A: 'b', KUBERNETES_SERVICE_HOST: '127.0.0.1' });
    expect(materials.containers.get('app')).toMatchObject({
      command: ['run', '8080'],
      args: ['--url=http://$(NAME):8080/127.0.0.1', '$(URL)'],
    });
  });

  it('lacks what is optional and missing', async () => {
    const { server, createPod, read } = await start();
    server.configMaps.create({ metadata: { name: 'settings' } });
    const optional = true;
    const env = ['configMapKeyRef', 'secretKeyRef'].flatMap((source) =>
      ['settings', 'none'].map((name, i) => {
        return { name: `V${i}`, valueFrom: { [source]: { name, key: 'missing', optional } } };
      }),
    );
    const envFrom = [{ configMapRef: { name: 'none', optional } }, { secretRef: { name: 'none', optional } }];
    const containers = [{ name: 'app', image: 'app:1', env, envFrom }];
    const variables = envOf(await read(createPod({ containers, enableServiceLinks: false })));
    expect(Object.keys(variables).filter((name) => !name.startsWith('KUBERNETES_'))).toEqual([]);
  });
});

describe('the files of a volume', () => {
  it('are those of the kubelet for each source, and other volumes have none', async () => {
    const { server, createPod, read } = await start();
    server.configMaps.create({ metadata: { name: 'm' }, data: { a: '1', b: '2' }, binaryData: { c: 'Aw==' } });
    server.secrets.create({ metadata: { name: 's' }, stringData: { key: 'hidden', other: 'x' } });
    const items = [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }];
    const volumes = [
      { name: 'map', configMap: { name: 'm' } },
      { name: 'part', configMap: { name: 'm', items: [{ key: 'b', path: 'dir/b', mode: 0o400 }], defaultMode: 0o440 } },
      { name: 'secret', secret: { secretName: 's', defaultMode: 0o400 } },
      { name: 'downward', downwardAPI: { items } },
      {
        name: 'mixed',
        projected: {
          sources: [{ secret: { name: 's', items: [{ key: 'key', path: 'k' }] } }, { downwardAPI: { items } }],
        },
      },
      { name: 'scratch', emptyDir: {} },
    ];
    const materials = await read(createPod({ volumes }, { labels: { app: 'web' } }));
    expect([...materials.volumes.keys()]).toEqual(['map', 'part', 'secret', 'downward', 'mixed']);
    expect(filesOf(materials, 'map')).toEqual({ a: '644 1', b: '644 2', c: '644 \u0003' });
    expect(filesOf(materials, 'part')).toEqual({ 'dir/b': '400 2' });
    expect(filesOf(materials, 'secret')).toEqual({ key: '400 hidden', other: '400 x' });
    expect(filesOf(materials, 'downward')).toEqual({ labels: '644 app="web"' });
    expect(filesOf(materials, 'mixed')).toEqual({ k: '644 hidden', labels: '644 app="web"' });
  });

  it('hold a Secret of 1 MiB', async () => {
    const { server, createPod, read } = await start();
    server.secrets.create({ metadata: { name: 's' }, stringData: { large: 'x'.repeat(megabyte) } });
    const { volumes } = await read(createPod({ volumes: [{ name: 'v', secret: { secretName: 's' } }] }));
    expect(volumes.get('v')![0]!.content).toHaveLength(megabyte);
  });

  it('lack what is optional and missing', async () => {
    const { server, createPod, read } = await start();
    server.secrets.create({ metadata: { name: 's' }, stringData: { a: 'b' } });
    const sources = [
      { configMap: { name: 'none', optional: true } },
      {
        secret: {
          name: 's',
          items: [
            { key: 'none', path: 'x' },
            { key: 'a', path: 'y' },
          ],
          optional: true,
        },
      },
    ];
    expect(filesOf(await read(createPod({ volumes: [{ name: 'v', projected: { sources } }] })))).toEqual({
      y: '644 b',
    });
  });
});

describe('the default volume of a ServiceAccount', () => {
  const volumes = [
    {
      name: 'v',
      projected: {
        sources: [
          { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
          { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
          { downwardAPI: { items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
        ],
      },
    },
  ];

  it('has a token that the API server accepts as the ServiceAccount, bound to the pod (azure-aci #543, #91)', async () => {
    const { server, createPod, read } = await start();
    const pod = createPod({ volumes, serviceAccountName: 'default', securityContext: { runAsUser: 1000 } });
    const materials = await read(pod);
    const [token, ca, namespace] = materials.volumes.get('v')!;
    expect(token).toMatchObject({ path: 'token', mode: 0o600, uid: 1000 });
    expect(ca!.path).toBe('ca.crt');
    expect(Buffer.from(namespace!.content).toString()).toBe('default');
    const review = async () => {
      const response = await fetch(`${server.url}/apis/authentication.k8s.io/v1/selfsubjectreviews`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${Buffer.from(token!.content).toString()}`,
        },
        body: '{}',
      });
      return { code: response.status, body: await response.text() };
    };
    expect((await review()).body).toContain('"username":"system:serviceaccount:default:default"');
    server.pods.delete('default', 'p', { gracePeriodSeconds: 0 });
    expect((await review()).code).toBe(401);
  });

  it('keeps its token for 80 % of its time, and then gets another', async () => {
    const { clock, createPod, read } = await start();
    const pod = createPod({ volumes, serviceAccountName: 'default' });
    const token = async () => filesOf(await read(pod)).token;
    const first = await token();
    clock.advance(3607 * 0.8 * 1000 - 1);
    expect(await token()).toBe(first);
    clock.advance(1);
    expect(await token()).not.toBe(first);
  });

  it('is not requested for a pod that has ended, also by a provider that asks late', async () => {
    const { server, reader, createPod } = await start();
    const pod = createPod({ volumes, serviceAccountName: 'default' });
    const scope = podScope(pod);
    await reader.read(pod, node, scope);
    await scope.close();
    const before = server.requests.length;
    await expect(reader.read(pod, node, scope)).rejects.toThrow('the pod has ended');
    expect(server.requests).toHaveLength(before);
  });
});

describe('pull secrets', () => {
  it('are the entries of both formats in their order; what is missing or of another type is skipped', async () => {
    const { server, createPod, read } = await start();
    const auth = Buffer.from('bob:se:cret').toString('base64');
    server.secrets.create({ metadata: { name: 'new' }, ...dockerConfig({ 'https://index.docker.io/v1/': { auth } }) });
    const stringData = { '.dockercfg': JSON.stringify({ 'registry.example': { username: 'eve', password: 'x' } }) };
    server.secrets.create({ metadata: { name: 'old' }, type: 'kubernetes.io/dockercfg', stringData });
    server.secrets.create({ metadata: { name: 'opaque' }, stringData });
    const imagePullSecrets = ['old', 'none', 'opaque', 'new'].map((name) => ({ name }));
    const { pullSecrets, missingPullSecrets } = await read(createPod({ imagePullSecrets }));
    expect(pullSecrets).toEqual([
      { registry: 'registry.example', username: 'eve', password: 'x' },
      { registry: 'https://index.docker.io/v1/', username: 'bob', password: 'se:cret' },
    ]);
    expect(missingPullSecrets).toEqual(['none']);
  });
});

const variable = (valueFrom: object): object => ({
  containers: [{ name: 'app', image: 'app:1', env: [{ name: 'A', valueFrom }] }],
});
const volume = (source: object): object => ({ volumes: [{ name: 'v', ...source }] });
const setUpFailed = 'MountVolume.SetUp failed for volume "v" : ';
const token = (path: string): object => ({ projected: { sources: [{ serviceAccountToken: { path } }] } });

describe('a pod is refused in the words of the kubelet', () => {
  it.for<[string, object, string, string]>([
    [
      'a ConfigMap of a variable',
      variable({ configMapKeyRef: { name: 'none', key: 'k' } }),
      'CreateContainerConfigError',
      'configmap "none" not found',
    ],
    [
      'a Secret of a variable',
      variable({ secretKeyRef: { name: 'none', key: 'k' } }),
      'CreateContainerConfigError',
      'secret "none" not found',
    ],
    [
      'a key of a variable',
      variable({ secretKeyRef: { name: 'login', key: 'k' } }),
      'CreateContainerConfigError',
      "couldn't find key k in Secret default/login",
    ],
    [
      'a file of a volume of the node',
      {
        ...variable({ fileKeyRef: { volumeName: 'scratch', path: 'f', key: 'k' } }),
        volumes: [{ name: 'scratch', emptyDir: {} }],
      },
      'CreateContainerConfigError',
      'cannot find the volume "scratch" referenced by FileKeyRef',
    ],
    [
      'a ConfigMap of a volume',
      volume({ configMap: { name: 'none' } }),
      'FailedMount',
      `${setUpFailed}configmap "none" not found`,
    ],
    [
      'a Secret of a volume',
      volume({ secret: { secretName: 'none' } }),
      'FailedMount',
      `${setUpFailed}secret "none" not found`,
    ],
    [
      'a key of a volume',
      volume({ secret: { secretName: 'login', items: [{ key: 'k', path: 'k' }] } }),
      'FailedMount',
      `${setUpFailed}references non-existent secret key: k`,
    ],
    [
      'a ServiceAccount',
      { ...volume(token('t')), serviceAccountName: 'none' },
      'FailedMount',
      'serviceaccounts "none" not found',
    ],
    [
      'an image pull secret that is no configuration',
      { imagePullSecrets: [{ name: 'broken' }] },
      'ErrImagePull',
      'the image pull secret "broken" has an invalid configuration',
    ],
  ])('%s', async ([, spec, reason, message]) => {
    const { server, createPod, read } = await start();
    server.secrets.create({ metadata: { name: 'login' }, stringData: { password: 'hunter2' } });
    server.secrets.create({
      metadata: { name: 'broken' },
      ...dockerConfig({ 'registry.example': { auth: 'hunter2' } }),
    });
    const error = await read(createPod(spec)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ reason, permanent: false, message: expect.stringContaining(message) });
    expect(String((error as Error).stack)).not.toContain('hunter2');
  });

  it.for([
    ['outside of the volume', '../x'],
    ['from the root', '/x'],
    ['outside of the volume in the end', 'a/../../x'],
    ['without a name', ''],
    ['of the folder above', '..'],
    ['of more than 4096 bytes', `${'d/'.repeat(3000)}x`],
  ] as const)('a path %s', async ([, path]) => {
    const { server, createPod, read } = await start();
    server.configMaps.create({ metadata: { name: 'm' }, data: { k: '' } });
    const pod = createPod(volume({ configMap: { name: 'm' } }));
    const hostile = {
      ...pod,
      spec: { ...pod.spec!, ...volume({ configMap: { name: 'm', items: [{ key: 'k', path }] } }) },
    };
    await expect(read(hostile)).rejects.toMatchObject({ reason: 'FailedMount' });
  });

  it('names that lead out of a request', async () => {
    const { server, createPod, read } = await start();
    const pod = createPod({});
    const before = server.requests.length;
    for (const name of ['../../secrets/x', 'a/b', '..', '.', '%2e%2e']) {
      const hostile = { ...pod, spec: { ...pod.spec!, ...volume({ secret: { secretName: name } }) } };
      await expect(read(hostile)).rejects.toMatchObject({ reason: 'FailedMount' });
    }
    const paths = server.requests.slice(before).map(({ path }) => path);
    expect(paths.filter((path) => !path.startsWith('/api/v1/namespaces/default/secrets/'))).toEqual([]);
  });

  it('with much more content than a pod needs, before all of it is in memory', async () => {
    const { server, createPod, read } = await start();
    server.configMaps.create({ metadata: { name: 'm' }, data: { k: 'x'.repeat(megabyte) } });
    const sources = Array.from({ length: 100 }, (_, i) => ({
      configMap: { name: 'm', items: [{ key: 'k', path: `f${i}` }] },
    }));
    await expect(read(createPod(volume({ projected: { sources } })))).rejects.toMatchObject({
      reason: 'FailedMount',
      message: `${setUpFailed}the pod's volumes and environment have more than 67108864 bytes`,
    });
  });

  it('with much more environment than a pod needs', async () => {
    const { server, createPod, read } = await start();
    server.configMaps.create({ metadata: { name: 'm' }, data: { k: 'x'.repeat(megabyte) } });
    const containers = Array.from({ length: 100 }, (_, i) => {
      return { name: `c${i}`, image: 'app:1', envFrom: [{ configMapRef: { name: 'm' } }] };
    });
    await expect(read(createPod({ containers }))).rejects.toMatchObject({ reason: 'CreateContainerConfigError' });
  });
});

describe('the API server', () => {
  it('is asked for single objects, once for pods that start together; only Services are watched (virtual-kubelet #210)', async () => {
    const { server, createPod, read } = await start();
    server.secrets.create({ metadata: { name: 's' }, stringData: { a: 'b' } });
    const spec = volume({ secret: { secretName: 's' } });
    const pods = [createPod(spec), createPod(spec, { name: 'q' })];
    await Promise.all(pods.map(read));
    const paths = server.requests.map(({ method, path }) => `${method} ${path.split('?')[0]}`);
    expect(paths.filter((path) => !path.endsWith('/services'))).toEqual(['GET /api/v1/namespaces/default/secrets/s']);
  });

  it('may be away: the last version of an object is used', async () => {
    const { clock, server, createPod, read } = await start();
    server.secrets.create({ metadata: { name: 's' }, stringData: { a: 'b' } });
    const pod = createPod(volume({ secret: { secretName: 's' } }));
    await read(pod);
    await server.kill();
    clock.advance(5000);
    expect(filesOf(await read(pod))).toEqual({ a: '644 b' });
  });
});
