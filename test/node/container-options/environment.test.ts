import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeObject } from '../../../src/kube/objects/kube-object.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeEnvironmentVariables } from '../../../src/node/container-options/make-environment.ts';
import type { ObjectReader, Service, ServiceReader } from '../../../src/node/container-options/api-object-reader.ts';
import type { EnvironmentVariable } from '../../../src/node/container-options/run-container-options.ts';
import { serviceEnvironment } from '../../../src/node/container-options/service-environment.ts';
import { ContainerConfigError } from '../../../src/node/runtime/container-runtime.ts';
import type { Pod } from '../../../src/kube/objects/types.ts';
import { systemFiles } from '../../../src/node/host-paths/host-files.ts';

function service(name: string, namespace: string, clusterIP: string, port: number): Service {
  return { metadata: { name, namespace }, spec: { clusterIP, ports: [{ protocol: 'TCP', port }] } };
}

const services = [
  service('kubernetes', 'default', '1.2.3.1', 8081),
  service('test', 'test1', '1.2.3.3', 8083),
  service('kubernetes', 'test2', '1.2.3.4', 8084),
  service('test', 'test2', '1.2.3.5', 8085),
  service('test', 'test2', 'None', 8085),
  service('test', 'test2', '', 8085),
  service('not-special', 'default', '1.2.3.8', 8088),
  service('not-special', 'default', 'None', 8088),
  service('not-special', 'default', '', 8088),
];

function serviceVariables(prefix: string, ip: string, port: number): Record<string, string> {
  const url = `tcp://${ip}:${port}`;
  return {
    [`${prefix}_SERVICE_HOST`]: ip,
    [`${prefix}_SERVICE_PORT`]: String(port),
    [`${prefix}_PORT`]: url,
    [`${prefix}_PORT_${port}_TCP`]: url,
    [`${prefix}_PORT_${port}_TCP_PROTO`]: 'tcp',
    [`${prefix}_PORT_${port}_TCP_PORT`]: String(port),
    [`${prefix}_PORT_${port}_TCP_ADDR`]: ip,
  };
}
const kubernetes = serviceVariables('KUBERNETES', '1.2.3.1', 8081);
const testService = serviceVariables('TEST', '1.2.3.3', 8083);

interface Case {
  readonly name: string;
  readonly ns: string;
  /** Default: false. */
  readonly enableServiceLinks?: boolean | undefined;
  readonly container: object;
  readonly nilLister?: boolean;
  readonly isStatic?: boolean;
  readonly unsyncedServices?: boolean;
  readonly configMap?: KubeObject<'ConfigMap'>;
  readonly secret?: KubeObject<'Secret'>;
  readonly podIPs?: readonly string[];
  readonly expected?: Record<string, string>;
  readonly error?: string;
}

const literals = (values: Record<string, string>) => Object.entries(values).map(([name, value]) => ({ name, value }));
const fields = (paths: Record<string, string>) =>
  Object.entries(paths).map(([name, fieldPath]) => ({
    name,
    valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } },
  }));
const base64 = (text: string) => Buffer.from(text).toString('base64');

const addresses = {
  POD_IP: 'status.podIP',
  POD_IPS: 'status.podIPs',
  HOST_IP: 'status.hostIP',
  HOST_IPS: 'status.hostIPs',
};
const expectedAddresses = {
  POD_IP: '1.2.3.4',
  POD_IPS: '1.2.3.4,fd00::6',
  HOST_IP: '127.0.0.1',
  HOST_IPS: '127.0.0.1,::1',
};
const fooAndTest = { FOO: 'BAR', ...testService };
const expansions = [
  { name: 'TEST_LITERAL', value: 'test-test-test' },
  ...fields({ POD_NAME: 'metadata.name' }),
  { name: 'OUT_OF_ORDER_TEST', value: '$(OUT_OF_ORDER_TARGET)' },
  { name: 'OUT_OF_ORDER_TARGET', value: 'FOO' },
  { name: 'EMPTY_VAR' },
  { name: 'EMPTY_TEST', value: 'foo-$(EMPTY_VAR)' },
  { name: 'POD_NAME_TEST2', value: 'test2-$(POD_NAME)' },
  { name: 'POD_NAME_TEST3', value: '$(POD_NAME_TEST2)-3' },
  { name: 'LITERAL_TEST', value: 'literal-$(TEST_LITERAL)' },
  { name: 'TEST_UNDEFINED', value: '$(UNDEFINED_VAR)' },
];
const expanded = {
  TEST_LITERAL: 'test-test-test',
  POD_NAME: 'dapi-test-pod-name',
  POD_NAME_TEST2: 'test2-dapi-test-pod-name',
  POD_NAME_TEST3: 'test2-dapi-test-pod-name-3',
  LITERAL_TEST: 'literal-test-test-test',
  OUT_OF_ORDER_TEST: '$(OUT_OF_ORDER_TARGET)',
  OUT_OF_ORDER_TARGET: 'FOO',
  TEST_UNDEFINED: '$(UNDEFINED_VAR)',
  EMPTY_VAR: '',
  EMPTY_TEST: 'foo-',
};
const fromObject = (reference: object, prefix: string) => ({
  envFrom: [reference, { prefix, ...reference }],
  env: literals({ TEST_LITERAL: 'test-test-test', EXPANSION_TEST: '$(REPLACE_ME)', DUPE_TEST: 'ENV_VAR' }),
});
const fromObjectExpected = (value: string, prefix: string) => ({
  TEST_LITERAL: 'test-test-test',
  REPLACE_ME: `FROM_${value}`,
  EXPANSION_TEST: `FROM_${value}`,
  DUPE_TEST: 'ENV_VAR',
  [`${prefix}REPLACE_ME`]: `FROM_${value}`,
  [`${prefix}DUPE_TEST`]: value,
});
const fromConfigMap = { configMapRef: { name: 'test-config-map' } };
const fromSecret = { secretRef: { name: 'test-secret' } };
const configMap = { data: { REPLACE_ME: 'FROM_CONFIG_MAP', DUPE_TEST: 'CONFIG_MAP' } };
const secret = { data: { REPLACE_ME: base64('FROM_SECRET'), DUPE_TEST: base64('SECRET') } };
const optionalKey = (source: string, name: string) => ({
  env: [{ name: 'POD_NAME', valueFrom: { [source]: { name, key: 'key', optional: true } } }],
});

const tooLarge = 'environment or arguments have more than 8388608 characters, which no process can get';

const cases: readonly Case[] = [
  {
    name: "if services aren't synced, non-static pods should fail",
    ns: 'test1',
    container: {},
    unsyncedServices: true,
    error: 'services have not yet been read at least once, cannot construct envvars',
  },
  {
    name: "if services aren't synced, static pods should succeed",
    ns: 'test1',
    container: {},
    isStatic: true,
    unsyncedServices: true,
    expected: {},
  },
  {
    name: 'api server = Y, kubelet = Y',
    ns: 'test1',
    container: { env: literals(fooAndTest) },
    expected: { ...fooAndTest, ...kubernetes },
  },
  {
    name: 'api server = Y, kubelet = N',
    ns: 'test1',
    container: { env: literals(fooAndTest) },
    nilLister: true,
    expected: fooAndTest,
  },
  {
    name: 'api server = N; kubelet = Y',
    ns: 'test1',
    container: { env: literals({ FOO: 'BAZ' }) },
    expected: { FOO: 'BAZ', ...kubernetes },
  },
  {
    name: 'api server = N; kubelet = Y; service env vars',
    ns: 'test1',
    enableServiceLinks: true,
    container: { env: literals({ FOO: 'BAZ' }) },
    expected: { FOO: 'BAZ', ...testService, ...kubernetes },
  },
  {
    name: 'master service in pod ns',
    ns: 'test2',
    container: { env: literals({ FOO: 'ZAP' }) },
    expected: { FOO: 'ZAP', ...kubernetes },
  },
  {
    name: 'master service in pod ns, service env vars',
    ns: 'test2',
    enableServiceLinks: true,
    container: { env: literals({ FOO: 'ZAP' }) },
    expected: {
      FOO: 'ZAP',
      ...serviceVariables('TEST', '1.2.3.5', 8085),
      ...serviceVariables('KUBERNETES', '1.2.3.4', 8084),
    },
  },
  { name: 'pod in master service ns', ns: 'default', container: {}, expected: kubernetes },
  {
    name: 'pod in master service ns, service env vars',
    ns: 'default',
    enableServiceLinks: true,
    container: {},
    expected: { ...serviceVariables('NOT_SPECIAL', '1.2.3.8', 8088), ...kubernetes },
  },
  {
    name: 'downward api pod',
    ns: 'downward-api',
    container: {
      env: fields({
        POD_NAME: 'metadata.name',
        POD_NAMESPACE: 'metadata.namespace',
        POD_NODE_NAME: 'spec.nodeName',
        POD_SERVICE_ACCOUNT_NAME: 'spec.serviceAccountName',
        ...addresses,
      }),
    },
    podIPs: ['1.2.3.4', 'fd00::6'],
    nilLister: true,
    expected: {
      POD_NAME: 'dapi-test-pod-name',
      POD_NAMESPACE: 'downward-api',
      POD_NODE_NAME: 'node-name',
      POD_SERVICE_ACCOUNT_NAME: 'special',
      ...expectedAddresses,
    },
  },
  {
    name: 'downward api pod ips reverse order',
    ns: 'downward-api',
    container: { env: fields(addresses) },
    podIPs: ['fd00::6', '1.2.3.4'],
    nilLister: true,
    expected: expectedAddresses,
  },
  {
    name: 'downward api pod ips multiple ips',
    ns: 'downward-api',
    container: { env: fields(addresses) },
    podIPs: ['1.2.3.4', '192.168.1.1.', 'fd00::6'],
    nilLister: true,
    expected: expectedAddresses,
  },
  { name: 'env expansion', ns: 'test1', container: { env: expansions }, expected: { ...expanded, ...kubernetes } },
  {
    name: 'env expansion, service env vars',
    ns: 'test1',
    enableServiceLinks: true,
    container: {
      env: [...expansions, { name: 'SERVICE_VAR_TEST', value: '$(TEST_SERVICE_HOST):$(TEST_SERVICE_PORT)' }],
    },
    expected: { ...expanded, SERVICE_VAR_TEST: '1.2.3.3:8083', ...testService, ...kubernetes },
  },
  {
    name: 'configmapkeyref_missing_optional',
    ns: 'test',
    container: optionalKey('configMapKeyRef', 'missing-config-map'),
    expected: kubernetes,
  },
  {
    name: 'configmapkeyref_missing_key_optional',
    ns: 'test',
    container: optionalKey('configMapKeyRef', 'test-config-map'),
    nilLister: true,
    configMap: { data: { a: 'b' } },
    expected: {},
  },
  {
    name: 'secretkeyref_missing_optional',
    ns: 'test',
    container: optionalKey('secretKeyRef', 'missing-secret'),
    expected: kubernetes,
  },
  {
    name: 'secretkeyref_missing_key_optional',
    ns: 'test',
    container: optionalKey('secretKeyRef', 'test-secret'),
    nilLister: true,
    secret: { data: { a: base64('b') } },
    expected: {},
  },
  {
    name: 'configmap',
    ns: 'test1',
    container: fromObject(fromConfigMap, 'p_'),
    configMap,
    expected: { ...fromObjectExpected('CONFIG_MAP', 'p_'), ...kubernetes },
  },
  {
    name: 'configmap allow prefix to start with a digital',
    ns: 'test1',
    container: fromObject(fromConfigMap, '1_'),
    configMap,
    expected: { ...fromObjectExpected('CONFIG_MAP', '1_'), ...kubernetes },
  },
  {
    name: 'configmap, service env vars',
    ns: 'test1',
    enableServiceLinks: true,
    container: fromObject(fromConfigMap, 'p_'),
    configMap,
    expected: { ...fromObjectExpected('CONFIG_MAP', 'p_'), ...testService, ...kubernetes },
  },
  {
    name: 'configmap_missing',
    ns: 'test1',
    container: { envFrom: [fromConfigMap] },
    error: 'configmap "test-config-map" not found',
  },
  {
    name: 'configmap_missing_optional',
    ns: 'test',
    container: { envFrom: [{ configMapRef: { name: 'missing-config-map', optional: true } }] },
    expected: kubernetes,
  },
  {
    name: 'configmap_invalid_keys_valid',
    ns: 'test',
    container: { envFrom: [{ prefix: 'p_', ...fromConfigMap }] },
    configMap: { data: { '1234': 'abc' } },
    expected: { p_1234: 'abc', ...kubernetes },
  },
  {
    name: 'secret',
    ns: 'test1',
    container: fromObject(fromSecret, 'p_'),
    secret,
    expected: { ...fromObjectExpected('SECRET', 'p_'), ...kubernetes },
  },
  {
    name: 'secret, service env vars',
    ns: 'test1',
    enableServiceLinks: true,
    container: fromObject(fromSecret, 'p_'),
    secret,
    expected: { ...fromObjectExpected('SECRET', 'p_'), ...testService, ...kubernetes },
  },
  {
    name: 'secret_missing',
    ns: 'test1',
    container: { envFrom: [fromSecret] },
    error: 'secret "test-secret" not found',
  },
  {
    name: 'secret_missing_optional',
    ns: 'test',
    container: { envFrom: [{ secretRef: { name: 'missing-secret', optional: true } }] },
    expected: kubernetes,
  },
  {
    name: 'secret_invalid_keys_valid',
    ns: 'test',
    container: { envFrom: [{ prefix: 'p_', ...fromSecret }] },
    secret: { data: { '1234.name': base64('abc') } },
    expected: { 'p_1234.name': 'abc', ...kubernetes },
  },
  {
    name: 'nil_enableServiceLinks',
    ns: 'test',
    enableServiceLinks: undefined,
    container: {},
    error: 'nil pod.spec.enableServiceLinks encountered, cannot construct envvars',
  },
  // Not among upstream's.
  {
    name: 'a missing key of a ConfigMap',
    ns: 'test',
    container: { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'map', key: 'gone' } } }] },
    configMap,
    error: "couldn't find key gone in ConfigMap test/map",
  },
  {
    name: 'a missing key of a Secret',
    ns: 'test',
    container: { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'keys', key: 'gone' } } }] },
    secret,
    error: "couldn't find key gone in Secret test/keys",
  },
  {
    name: 'a field that containers cannot read',
    ns: 'test',
    container: { env: fields({ A: 'spec.containers' }) },
    error: 'field label not supported: spec.containers',
  },
  {
    name: 'labels and annotations',
    ns: 'test',
    nilLister: true,
    container: {
      env: fields({
        LABELS: 'metadata.labels',
        ONE: "metadata.annotations['example.com/Note']",
        NONE: "metadata.labels['none']",
        ANNOTATIONS: 'metadata.annotations',
      }),
    },
    expected: {
      LABELS: 'app="web"\ntier="front"',
      ONE: 'one\ntwo\u0001',
      NONE: '',
      ANNOTATIONS: 'example.com/Note="one\\ntwo\\x01"',
    },
  },
  {
    name: 'resources in divisors, of the container, of the node and of another one',
    ns: 'test',
    nilLister: true,
    container: {
      resources: { limits: { memory: '64Mi' }, requests: { cpu: '250m' } },
      env: Object.entries({
        MEMORY: { resource: 'limits.memory', divisor: '1Mi' },
        CPU: { resource: 'requests.cpu', divisor: '1m' },
        CPU_UNITS: { resource: 'requests.cpu' },
        NODE_CPU: { resource: 'limits.cpu' },
        NODE_STORAGE: { resource: 'limits.ephemeral-storage', divisor: '1Gi' },
        OTHER: { resource: 'limits.memory', containerName: 'other' },
        NONE: { resource: 'requests.memory' },
      }).map(([name, resourceFieldRef]) => ({ name, valueFrom: { resourceFieldRef } })),
    },
    expected: {
      MEMORY: '64',
      CPU: '250',
      CPU_UNITS: '1',
      NODE_CPU: '2',
      NODE_STORAGE: '10',
      OTHER: '1000',
      NONE: '0',
    },
  },
  {
    name: 'a source that this agent does not know',
    ns: 'test',
    container: { env: [{ name: 'A', valueFrom: { hologramRef: {} } }] },
    error: 'the source of the environment variable A is not supported',
  },
  {
    name: 'a value wins over a source, and an empty one is that of the source',
    ns: 'test',
    nilLister: true,
    container: {
      env: fields({ A: 'metadata.name', B: 'metadata.name' }).map((one) => ({
        ...one,
        value: one.name === 'A' ? 'own' : '',
      })),
    },
    expected: { A: 'own', B: 'dapi-test-pod-name' },
  },
  {
    name: 'a source of envFrom that this agent does not know sets nothing, and later ones win',
    ns: 'test',
    nilLister: true,
    container: { envFrom: [{ hologramRef: {} }, fromConfigMap, fromSecret] },
    configMap: { data: { A: 'map', B: 'map' } },
    secret: { data: { B: base64('secret') } },
    expected: { A: 'map', B: 'secret' },
  },
  {
    name: 'a ConfigMap and a Secret without data',
    ns: 'test',
    nilLister: true,
    container: { envFrom: [fromConfigMap, fromSecret] },
    configMap: {},
    secret: {},
    expected: {},
  },
  {
    name: 'a key that every object has is none of a ConfigMap',
    ns: 'test',
    container: { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'map', key: 'toString' } } }] },
    configMap,
    error: "couldn't find key toString in ConfigMap test/map",
  },
  {
    name: 'keys of a ConfigMap and a Secret, also empty ones',
    ns: 'test',
    nilLister: true,
    container: {
      env: [
        { name: 'A', valueFrom: { configMapKeyRef: { name: 'map', key: 'a' } } },
        { name: 'B', valueFrom: { configMapKeyRef: { name: 'map', key: 'empty' } } },
        { name: 'C', valueFrom: { secretKeyRef: { name: 'keys', key: 'c' } } },
        { name: 'D', value: '$(A) $(B) $(C)' },
      ],
    },
    configMap: { data: { a: 'one', empty: '' } },
    secret: { data: { c: base64('hidden') } },
    expected: { A: 'one', B: '', C: 'hidden', D: 'one  hidden' },
  },
  {
    name: 'a variable of the container wins over that of a Service, and has its value',
    ns: 'test1',
    container: { env: literals({ HOST: '$(KUBERNETES_SERVICE_HOST)', KUBERNETES_SERVICE_HOST: 'mine' }) },
    expected: { ...kubernetes, HOST: '1.2.3.1', KUBERNETES_SERVICE_HOST: 'mine' },
  },
  {
    name: 'one field many times',
    ns: 'test',
    container: { env: Array.from({ length: 300_000 }, (_, i) => fields({ [`VARIABLE${i}`]: 'metadata.name' })[0]!) },
    error: tooLarge,
  },
  {
    name: 'a resource that containers cannot read',
    ns: 'test',
    container: { env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.gpu' } } }] },
    error: 'unsupported container resource : limits.gpu',
  },
  {
    name: 'variables that double: 4 KB of them had ended the agent',
    ns: 'test',
    container: {
      env: Array.from({ length: 100 }, (_, i) => ({ name: `V${i + 1}`, value: i === 0 ? 'xx' : `$(V${i})$(V${i})` })),
    },
    error: tooLarge,
  },
  {
    name: 'one ConfigMap many times',
    ns: 'test',
    container: { envFrom: Array.from({ length: 100_000 }, (_, i) => ({ prefix: `P${i}`, ...fromConfigMap })) },
    configMap: { data: { KEY: 'x'.repeat(1_000_000) } },
    error: tooLarge,
  },
  {
    name: 'one key many times',
    ns: 'test',
    container: {
      env: Array.from({ length: 100_000 }, (_, i) => ({
        name: `V${i}`,
        valueFrom: { configMapKeyRef: { name: 'test-config-map', key: 'KEY' } },
      })),
    },
    configMap: { data: { KEY: 'x'.repeat(1_000_000) } },
    error: tooLarge,
  },
];

function objectsOf({ configMap: map, secret: one }: Case): ObjectReader {
  return {
    getConfigMap: async () => map,
    getSecret: async () => one,
    getServiceAccountToken: async () => 'token',
  };
}

function servicesOf({ nilLister, unsyncedServices }: Case): ServiceReader | undefined {
  if (nilLister) return undefined;
  const known = unsyncedServices ? [] : services;
  return {
    waitForSync: async () => {
      if (unsyncedServices) throw new Error('the API server is away');
    },
    listServices: (namespace) => known.filter(({ metadata }) => metadata.namespace === namespace),
  };
}

describe('TestMakeEnvironmentVariables: makeEnvironmentVariables', () => {
  it.each(cases)('$name', async (one) => {
    const pod: Pod = {
      metadata: {
        name: 'dapi-test-pod-name',
        namespace: one.ns,
        labels: { tier: 'front', app: 'web' },
        annotations: one.isStatic
          ? { 'kubernetes.io/config.source': 'file' }
          : { 'example.com/Note': 'one\ntwo\u0001' },
      },
      spec: {
        nodeName: 'node-name',
        serviceAccountName: 'special',
        enableServiceLinks: 'enableServiceLinks' in one ? one.enableServiceLinks : false,
        containers: [{ name: 'app' }, { name: 'other', resources: { limits: { memory: '1k' } } }],
      },
    };
    const made = makeEnvironmentVariables(
      pod,
      { name: 'app', ...one.container },
      {
        objects: objectsOf(one),
        services: servicesOf(one),
        podIPs: one.podIPs ?? [],
        hostIPs: ['127.0.0.1', '::1'],
        allocatable: { cpu: '1500m', memory: '8Gi', 'ephemeral-storage': '10Gi' },
        volume: () => undefined,
      },
    );
    if (one.error === undefined) {
      const variables = Object.fromEntries((await made).map(({ name, value }) => [name, value]));
      expect(variables).toEqual(one.expected);
    } else await expect(made).rejects.toThrow(new ContainerConfigError(one.error));
  });

  it('has no ConfigMaps, Secrets and Services without an API server', async () => {
    const pod = { metadata: { namespace: 'test' }, spec: { enableServiceLinks: true } };
    const unavailable = { objects: undefined, services: undefined };
    const sources = { ...unavailable, podIPs: [], hostIPs: [], allocatable: {}, volume: () => undefined };
    expect(await makeEnvironmentVariables(pod, { name: 'app' }, sources)).toEqual([]);
    const container = { name: 'app', envFrom: [{ secretRef: { name: 'keys' } }] };
    await expect(makeEnvironmentVariables(pod, container, sources)).rejects.toThrow(
      new ContainerConfigError("couldn't get secret test/keys, no kubeClient defined"),
    );
  });
});

it('a container gets one version of a ConfigMap, however many variables come from it', async () => {
  const asked: string[] = [];
  const getConfigMap = async (namespace: string, name: string) => {
    asked.push(`${namespace}/${name}`);
    return { data: { key: String(asked.length) } };
  };
  const getSecret = async (namespace: string, name: string) => {
    asked.push(`secret ${namespace}/${name}`);
    return { data: { key: base64('hidden') } };
  };
  const reference = { name: 'one', key: 'key' };
  const container: KubeObject<'Container'> = {
    name: 'app',
    envFrom: [{ configMapRef: { name: 'one' } }, { prefix: 'P_', secretRef: { name: 'one' } }],
    env: [
      { name: 'A', valueFrom: { configMapKeyRef: reference } },
      { name: 'B', valueFrom: { secretKeyRef: reference } },
      { name: 'C', valueFrom: { configMapKeyRef: { ...reference, name: 'two' } } },
    ],
  };
  const pod: Pod = { metadata: { namespace: 'ns' }, spec: { enableServiceLinks: false } };
  const made = await makeEnvironmentVariables(pod, container, {
    objects: { getConfigMap, getSecret, getServiceAccountToken: async () => '' },
    ...{ services: undefined, podIPs: [], hostIPs: [], allocatable: {}, volume: () => undefined },
  });
  expect(asked).toEqual(['ns/one', 'secret ns/one', 'ns/two']);
  expect(made.map(({ name, value }) => `${name}=${value}`)).toEqual([
    'key=1',
    'P_key=hidden',
    'A=1',
    'B=hidden',
    'C=3',
  ]);
});

describe('fileKeyRef', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'environment-'));
    await writeFile(join(folder, 'env'), "KEY='value'\n");
    await writeFile(join(folder, 'broken'), 'KEY\n');
  });
  afterAll(() => rm(folder, { recursive: true }));

  const environment = (fileKeyRef: object): Promise<EnvironmentVariable[]> => {
    const pod: Pod = { metadata: { namespace: 'test' }, spec: { enableServiceLinks: false } };
    const container: KubeObject<'Container'> = {
      name: 'app',
      env: [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'data', path: 'env', key: 'KEY', ...fileKeyRef } } }],
    };
    const volume = (name: string) => (name === 'data' ? { files: systemFiles, path: folder } : undefined);
    return makeEnvironmentVariables(pod, container, {
      ...{ objects: undefined, services: undefined, podIPs: [], hostIPs: [], allocatable: {}, volume },
    });
  };

  it('a variable has the value of a key in a file of a volume; a missing one must be optional', async () => {
    expect(await environment({})).toEqual([{ name: 'A', value: 'value' }]);
    expect(await environment({ key: 'NONE', optional: true })).toEqual([]);
  });

  it.each<[object, () => string]>([
    [{ volumeName: 'other' }, () => 'cannot find the volume "other" referenced by FileKeyRef'],
    [{ path: 'none', optional: true }, () => "couldn't parse env file"],
    [{ path: 'broken' }, () => "couldn't parse env file"],
    [{ key: 'NONE' }, () => `environment variable key "NONE" not found in file "${folder}/env"`],
  ])('%j is an error', async (fileKeyRef, message) => {
    await expect(environment(fileKeyRef)).rejects.toThrow(new ContainerConfigError(message()));
  });
});

describe('TestFromServices: serviceEnvironment', () => {
  const twoPorts = (port: number) => [
    { name: 'u-d-p', port, protocol: 'UDP' },
    { name: 't-c-p', port, protocol: 'TCP' },
  ];
  it('a Service without ports has an address, and its port is empty', () => {
    const expected = [
      { name: 'A_SERVICE_HOST', value: '10.0.0.1' },
      { name: 'A_SERVICE_PORT', value: '' },
    ];
    for (const ports of [undefined, []])
      expect(serviceEnvironment([{ metadata: { name: 'a' }, spec: { clusterIP: '10.0.0.1', ports } }])).toEqual(
        expected,
      );
  });

  it('a port without a protocol has TCP, and one without a name no variable of its own', () => {
    const ports = [{ port: 53, name: '' }, { port: 54 }];
    const variables = serviceEnvironment([{ metadata: { name: 'a' }, spec: { clusterIP: '10.0.0.1', ports } }]);
    expect(variables.map(({ name, value }) => `${name}=${value}`)).toEqual([
      ...['A_SERVICE_HOST=10.0.0.1', 'A_SERVICE_PORT=53', 'A_PORT=tcp://10.0.0.1:53'],
      ...[
        'A_PORT_53_TCP=tcp://10.0.0.1:53',
        'A_PORT_53_TCP_PROTO=tcp',
        'A_PORT_53_TCP_PORT=53',
        'A_PORT_53_TCP_ADDR=10.0.0.1',
      ],
      ...[
        'A_PORT_54_TCP=tcp://10.0.0.1:54',
        'A_PORT_54_TCP_PROTO=tcp',
        'A_PORT_54_TCP_PORT=54',
        'A_PORT_54_TCP_ADDR=10.0.0.1',
      ],
    ]);
  });

  it('names ports, protocols and IPv6 addresses', () => {
    const variables = serviceEnvironment([
      { metadata: { name: 'abc-123' }, spec: { clusterIP: '5.6.7.8', ports: twoPorts(8081) } },
      { metadata: { name: 'svrc-clusterip-none' }, spec: { clusterIP: 'None', ports: [{ port: 8082 }] } },
      { metadata: { name: 'super-ipv6' }, spec: { clusterIP: '2001:DB8::', ports: twoPorts(8084) } },
    ]);
    const block = (prefix: string, ip: string, host: string, port: number) => [
      [`${prefix}_SERVICE_HOST`, ip],
      [`${prefix}_SERVICE_PORT`, String(port)],
      [`${prefix}_SERVICE_PORT_U_D_P`, String(port)],
      [`${prefix}_SERVICE_PORT_T_C_P`, String(port)],
      [`${prefix}_PORT`, `udp://${host}:${port}`],
      [`${prefix}_PORT_${port}_UDP`, `udp://${host}:${port}`],
      [`${prefix}_PORT_${port}_UDP_PROTO`, 'udp'],
      [`${prefix}_PORT_${port}_UDP_PORT`, String(port)],
      [`${prefix}_PORT_${port}_UDP_ADDR`, ip],
      [`${prefix}_PORT_${port}_TCP`, `tcp://${host}:${port}`],
      [`${prefix}_PORT_${port}_TCP_PROTO`, 'tcp'],
      [`${prefix}_PORT_${port}_TCP_PORT`, String(port)],
      [`${prefix}_PORT_${port}_TCP_ADDR`, ip],
    ];
    expect(variables.map(({ name, value }) => [name, value])).toEqual([
      ...block('ABC_123', '5.6.7.8', '5.6.7.8', 8081),
      ...block('SUPER_IPV6', '2001:DB8::', '[2001:DB8::]', 8084),
    ]);
  });
});
