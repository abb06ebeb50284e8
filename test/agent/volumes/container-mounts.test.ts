import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ContainerConfigError } from '../../../src/node/runtime/container-runtime.ts';
import { makeMounts } from '../../../src/agent/volumes/container-mounts.ts';
import { memoryVolumeSize } from '../../../src/agent/volumes/memory-size.ts';
import { systemFiles } from '../../../src/node/host-paths/host-files.ts';

const volumes = [
  { name: 'disk', hostPath: { path: '/mnt/disk' } },
  { name: 'empty', emptyDir: {} },
  { name: 'keys', secret: { secretName: 'keys' } },
  { name: 'tools', image: { reference: 'tools:1' } },
  { name: 'claim', persistentVolumeClaim: { claimName: 'claim' } },
];

async function mountsOf(
  volumeMounts: readonly object[] | undefined,
  podIPs: readonly string[] = [],
  supportsRecursiveReadOnly = false,
  imageVolumes?: ReadonlyMap<string, string>,
  { mounts = true, ...podSpec }: { readonly mounts?: boolean; readonly [field: string]: unknown } = {},
) {
  const rootDirectory = mkdtempSync(join(tmpdir(), 'mounts-'));
  onTestFinished(() => rmSync(rootDirectory, { recursive: true }));
  mkdirSync(join(rootDirectory, 'pods/1'), { recursive: true });
  const container = { name: 'app', volumeMounts: volumeMounts as { name: string; mountPath: string }[] };
  const pod = { metadata: { name: 'pod', uid: '1' }, spec: { volumes, containers: [container], ...podSpec } };
  const envs = [
    { name: 'SET', value: 'x' },
    { name: 'EMPTY', value: '' },
  ];
  const hostName = { hostname: 'pod', domain: '' };
  return {
    rootDirectory,
    mounts: await makeMounts(pod, container, {
      files: systemFiles,
      ...{ rootDirectory, mounts, podIPs, hostName, envs, supportsRecursiveReadOnly, imageVolumes },
      signal: new AbortController().signal,
    }),
  };
}

describe('TestMakeMounts: makeMounts', () => {
  it('valid mounts in unprivileged container', async () => {
    const { rootDirectory, mounts } = await mountsOf([
      { name: 'disk', mountPath: '/etc/hosts', mountPropagation: 'HostToContainer' },
      { name: 'disk', mountPath: '/mnt/path3', readOnly: true, mountPropagation: 'None' },
      { name: 'disk', mountPath: 'mnt/path4', mountPropagation: 'Bidirectional' },
      { name: 'empty', mountPath: '/empty' },
      { name: 'keys', mountPath: '/keys' },
    ]);
    const disk = { hostPath: '/mnt/disk', readOnly: false, recursiveReadOnly: false, seLinuxRelabel: false };
    const below = `${rootDirectory}/pods/1/volumes`;
    expect(mounts).toEqual([
      { ...disk, containerPath: '/etc/hosts', propagation: 'PROPAGATION_HOST_TO_CONTAINER' },
      { ...disk, containerPath: '/mnt/path3', readOnly: true, propagation: 'PROPAGATION_PRIVATE' },
      { ...disk, containerPath: '/mnt/path4', propagation: 'PROPAGATION_BIDIRECTIONAL' },
      {
        containerPath: '/empty',
        hostPath: `${below}/kubernetes.io~empty-dir/empty`,
        readOnly: false,
        recursiveReadOnly: false,
        seLinuxRelabel: true,
        propagation: 'PROPAGATION_PRIVATE',
      },
      {
        containerPath: '/keys',
        hostPath: `${below}/kubernetes.io~secret/keys`,
        readOnly: true,
        recursiveReadOnly: false,
        seLinuxRelabel: true,
        propagation: 'PROPAGATION_PRIVATE',
      },
    ]);
  });

  it('TestResolveRecursiveReadOnly: Enabled and IfPossible are recursive where the runtime can, Disabled is not', async () => {
    const modes = ['Enabled', 'IfPossible', 'Disabled', undefined];
    const volumeMounts = modes.map((recursiveReadOnly, i) => {
      return { name: 'disk', mountPath: `/${i}`, readOnly: true, recursiveReadOnly };
    });
    const { mounts } = await mountsOf(volumeMounts, [], true);
    expect(mounts.map(({ recursiveReadOnly }) => recursiveReadOnly)).toEqual([true, true, false, false]);
    const plain = await mountsOf(volumeMounts.slice(1));
    expect(plain.mounts.map(({ recursiveReadOnly }) => recursiveReadOnly)).toEqual([false, false, false]);
  });

  it('TestMakeMounts: an image is mounted read-only by the runtime, with its subPath', async () => {
    const mount = { name: 'tools', mountPath: '/tools', subPath: 'bin' };
    const { mounts } = await mountsOf([mount], [], false, new Map([['tools', 'sha256:1']]));
    expect(mounts).toMatchObject([
      {
        containerPath: '/tools',
        hostPath: '',
        image: { imageRef: 'sha256:1', userSpecifiedImage: 'tools:1', subPath: 'bin' },
        readOnly: true,
        seLinuxRelabel: false,
      },
    ]);
    await expect(mountsOf([mount])).rejects.toThrow('the runtime does not pull the image of volume "tools"');
    const outside = mountsOf([{ ...mount, subPath: '../etc' }], [], false, new Map([['tools', 'sha256:1']]));
    await expect(outside).rejects.toThrow("must not contain '..'");
  });

  it('what is a volume of the pod gets the label of the container, a hostPath keeps its own', async () => {
    const { mounts } = await mountsOf(['disk', 'empty', 'keys'].map((name) => ({ name, mountPath: `/${name}` })));
    expect(mounts.map(({ seLinuxRelabel }) => seLinuxRelabel)).toEqual([false, true, true]);
  });

  it.each([
    [
      'invalid absolute SubPath',
      { subPath: '/no/absolute' },
      'error SubPath `/no/absolute` must not be an absolute path',
    ],
    [
      'invalid SubPath with backsteps',
      { subPath: 'no/backsteps/../allowed' },
      "unable to provision SubPath `no/backsteps/../allowed`: must not contain '..'",
    ],
    ['missing variables', { subPathExpr: '$(SET)/$(B)/$(A)/$(B)' }, 'missing value for A, B'],
    ['an empty variable', { subPathExpr: '$(EMPTY)' }, 'missing value for EMPTY'],
    [
      'a variable that leads out',
      { subPathExpr: '../$(SET)' },
      "unable to provision SubPath `../x`: must not contain '..'",
    ],
    ["volume doesn't exist", { name: 'gone' }, 'cannot find volume "gone" to mount into container "app"'],
    ['a volume of another type', { name: 'claim' }, 'volume type persistentVolumeClaim is not supported by this agent'],
    ['unknown propagation', { mountPropagation: 'Sideways' }, 'invalid MountPropagation mode: "Sideways"'],
    [
      'recursive read-only, but not read-only',
      { recursiveReadOnly: 'IfPossible' },
      'failed to resolve recursive read-only mode: volume "disk" requested recursive read-only mode, but it is not read-only',
    ],
    [
      'recursive read-only with propagation',
      { readOnly: true, recursiveReadOnly: 'IfPossible', mountPropagation: 'HostToContainer' },
      'but it is not compatible with propagation "HostToContainer"',
    ],
    [
      'recursive read-only',
      { readOnly: true, recursiveReadOnly: 'Enabled' },
      'failed to resolve recursive read-only mode: volume "disk" requested recursive read-only mode, but it is not supported by the runtime',
    ],
  ])('%s', async (_name, mount, message) => {
    await expect(mountsOf([{ name: 'disk', mountPath: '/path', ...mount }])).rejects.toThrow(message);
  });

  it('reveals no host paths to a container when a subPath cannot be prepared', async () => {
    const mount = { name: 'empty', mountPath: '/path', subPath: 'file' };
    await expect(mountsOf([mount])).rejects.toThrow(
      new ContainerConfigError('failed to prepare subPath for volumeMount "empty" of container "app"'),
    );
  });

  it('TestMakeMountsEtcHostsFile: mounts /etc/hosts when the pod has an address', async () => {
    const { rootDirectory, mounts } = await mountsOf([], ['10.0.0.1']);
    const hostPath = `${rootDirectory}/pods/1/etc-hosts`;
    expect(mounts).toEqual([{ containerPath: '/etc/hosts', hostPath, seLinuxRelabel: true }]);
    expect(readFileSync(hostPath, 'utf8')).toContain('10.0.0.1\tpod\n');
    expect((await mountsOf([])).mounts).toEqual([]);
    expect((await mountsOf(undefined)).mounts).toEqual([]);
  });

  it('TestMakeMountsEtcHostsFile: a container with its own /etc/hosts gets no other one', async () => {
    const { mounts } = await mountsOf(
      ['/empty', '/etc/hosts'].map((mountPath) => ({ name: 'empty', mountPath })),
      ['10.0.0.1'],
    );
    expect(mounts.map(({ containerPath }) => containerPath)).toEqual(['/empty', '/etc/hosts']);
  });

  it('TestMakeMountsEtcHostsFile: in the network of the node, /etc/hosts is that of the node, with the aliases', async () => {
    const hostAliases = [{ ip: '10.1.2.3', hostnames: ['alias'] }];
    const { rootDirectory } = await mountsOf([], [], false, undefined, { hostNetwork: true, hostAliases });
    const text = readFileSync(`${rootDirectory}/pods/1/etc-hosts`, 'utf8');
    expect(text).toBe(
      `# Kubernetes-managed hosts file (host network).\n${readFileSync('/etc/hosts', 'utf8')}\n# Entries added by HostAliases.\n10.1.2.3\talias\n`,
    );
  });

  it('/etc/hosts is what the pod says now, and every user of a container can read it', async () => {
    const { rootDirectory } = await mountsOf([], ['10.0.0.1', 'fd00::1'], false, undefined, {
      hostAliases: [{ ip: '10.1.2.3', hostnames: ['alias'] }],
    });
    const text = readFileSync(`${rootDirectory}/pods/1/etc-hosts`, 'utf8');
    expect(text).toMatch(/\n10\.0\.0\.1\tpod\nfd00::1\tpod\n\n# Entries added by HostAliases\.\n10\.1\.2\.3\talias\n$/);
    expect(statSync(`${rootDirectory}/pods/1/etc-hosts`).mode & 0o777).toBe(0o644);
  });

  it('without mounts, a subPath is a folder of the volume, and /etc/hosts is that of the machine', async () => {
    const host = mkdtempSync(join(tmpdir(), 'host-'));
    onTestFinished(() => rmSync(host, { recursive: true }));
    const mount = { name: 'data', mountPath: '/data', subPathExpr: 'a/$(SET)' };
    const { mounts } = await mountsOf([mount], ['10.0.0.1'], false, undefined, {
      mounts: false,
      volumes: [{ name: 'data', hostPath: { path: host } }],
    });
    expect(mounts.map(({ containerPath, hostPath }) => [containerPath, hostPath])).toEqual([
      ['/data', join(host, 'a/x')],
    ]);
    expect(statSync(join(host, 'a/x')).isDirectory()).toBe(true);
  });

  it('a mount has the subPath of its variables, not the one beside them', async () => {
    const images = new Map([['tools', 'sha256:1']]);
    const mount = { name: 'tools', mountPath: '/tools', subPathExpr: 'bin-$(SET)', subPath: 'other' };
    const { mounts } = await mountsOf([mount, { ...mount, subPathExpr: '', subPath: 'plain' }], [], false, images);
    expect(mounts.map(({ image }) => image?.subPath)).toEqual(['bin-x', 'plain']);
  });
});

describe('TestCalculateEmptyDirMemorySize: memoryVolumeSize', () => {
  const podWith = (...memory: (string | undefined)[]) => ({
    spec: {
      containers: memory.map((limit, index) => ({
        name: String(index),
        ...(limit !== undefined && { resources: { limits: { memory: limit } } }),
      })),
    },
  });
  it.each([
    ['the memory of the node', podWith(undefined), undefined, 1024n],
    ['the limit of the pod', podWith('100', '200'), undefined, 300n],
    ['no limit of the pod if one container has none', podWith('100', undefined), undefined, 1024n],
    ['the limit of the volume', podWith('100', '200'), '50', 50n],
    ['not more than the limit of the pod', podWith('100'), '500', 100n],
    ['the memory of the node, if the limit of the volume is 0', podWith(undefined), '0', 1024n],
    ['the memory of the node, if the volume may be larger', podWith(undefined), '1Mi', 1024n],
  ])('is %s', (_what, pod, sizeLimit, size) => expect(memoryVolumeSize(pod, sizeLimit, '1Ki')).toBe(size));

  const limited = (memory: string, fields: object = {}) => ({
    name: 'c',
    resources: { limits: { memory } },
    ...fields,
  });
  const always = { restartPolicy: 'Always' };
  it.each<[string, object, bigint]>([
    ['of the pod itself', { resources: { limits: { memory: '70' } }, containers: [limited('100')] }, 70n],
    [
      'of the pod itself, if a container has none',
      { resources: { limits: { memory: '70' } }, containers: [{ name: 'c' }] },
      70n,
    ],
    [
      'of the containers and the sidecars',
      { containers: [limited('100')], initContainers: [limited('50', always)] },
      150n,
    ],
    [
      'of the init container that has the most',
      { containers: [limited('100')], initContainers: [limited('300'), limited('50')] },
      300n,
    ],
    [
      'of the containers, which have more than an init container',
      { containers: [limited('100')], initContainers: [limited('30')] },
      100n,
    ],
    [
      'of the node, if an init container has none',
      { containers: [limited('100')], initContainers: [{ name: 'i' }] },
      1024n,
    ],
  ])('is at most the limit %s', (_what, spec, size) => {
    expect(memoryVolumeSize({ spec }, undefined, '1Ki')).toBe(size);
  });
});
