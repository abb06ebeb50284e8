import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { bindMountOpenFile, isMountPoint, mountTmpfs } from '../../../src/node/host-paths/mounts.ts';
import { PodVolumes } from '../../../src/agent/volumes/pod-volumes.ts';
import { open } from 'node:fs/promises';
import { FakeClock, silentLogger } from 'kubelet-status-manager/testing';
import { TestDirectories } from '../../support/directories.ts';
import { podScopes } from '../../support/pod-scope.ts';
import { systemFiles } from '../../../src/node/host-paths/host-files.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

function volumesIn(rootDirectory: string): PodVolumes {
  const unused = { mounts: true, objects: undefined, allocatable: {}, eventRecorder: undefined };
  return new PodVolumes({
    files: systemFiles,
    ...unused,
    scopes: podScopes(),
    rootDirectory,
    clock: new FakeClock(),
    logger: silentLogger,
  });
}

it('folders of orphaned pods are removed; those of other pods stay', async () => {
  const root = directories.create();
  for (const uid of ['kept', 'orphan']) {
    mkdirSync(join(root, 'pods', uid, 'volumes', 'kubernetes.io~empty-dir', 'data'), { recursive: true });
    writeFileSync(join(root, 'pods', uid, 'etc-hosts'), '');
  }
  await volumesIn(root).cleanupOrphanedPodDirs(new Set(['kept']), {});
  expect(readdirSync(join(root, 'pods'))).toEqual(['kept']);
  await volumesIn(join(root, 'missing')).cleanupOrphanedPodDirs(new Set(), {});
});

it.skipIf(process.getuid?.() !== 0)(
  'what is mounted in the folder of an orphaned pod is unmounted, not removed',
  async () => {
    const root = directories.create();
    const host = join(root, 'host');
    mkdirSync(host);
    writeFileSync(join(host, 'precious'), '');
    const [memory, subPath] = ['memory', 'sub-path'].map((name) => join(root, 'pods', 'orphan', name));
    for (const path of [memory!, subPath!]) mkdirSync(path, { recursive: true });
    await mountTmpfs(systemFiles, memory!, 4096n);
    const folder = await open(host);
    await bindMountOpenFile(systemFiles, folder.fd, subPath!);
    await folder.close();
    expect(await isMountPoint(systemFiles, subPath!)).toBe(true);
    await volumesIn(root).cleanupOrphanedPodDirs(new Set(), {});
    expect(existsSync(join(root, 'pods', 'orphan'))).toBe(false);
    expect(readdirSync(host)).toEqual(['precious']);
  },
);

const hasHugePages =
  process.getuid?.() === 0 &&
  existsSync('/sys/kernel/mm/hugepages/hugepages-2048kB') &&
  readFileSync('/proc/filesystems', 'utf8').includes('hugetlbfs');

it.skipIf(!hasHugePages)('an emptyDir on huge pages is a hugetlbfs, set up once and unmounted at the end', async () => {
  const root = directories.create();
  const pod = {
    metadata: { name: 'web', namespace: 'ns', uid: 'u' },
    spec: {
      containers: [{ name: 'app', resources: { requests: { 'hugepages-2Mi': '2Mi' } } }],
      volumes: [{ name: 'pages', emptyDir: { medium: 'HugePages' } }],
    },
  };
  const volumes = volumesIn(root);
  await volumes.waitForAttachAndMount(pod, {});
  await volumesIn(root).waitForAttachAndMount(pod, {});
  const path = join(root, 'pods/u/volumes/kubernetes.io~empty-dir/pages');
  const mounted = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .filter((line) => line.includes(` ${path} `));
  expect(mounted).toEqual([expect.stringMatching(/ hugetlbfs .*pagesize=2M/)]);
  await volumes.waitForUnmount(pod, {});
  expect(existsSync(path)).toBe(false);
});

it.each<[string, object, string]>([
  [
    'a claim',
    { persistentVolumeClaim: { claimName: 'c' } },
    'volume.persistentVolumeClaim is not supported by this agent',
  ],
  ['an inline CSI volume', { csi: { driver: 'd' } }, 'volume.csi is not supported by this agent'],
  ['a mode of an emptyDir', { emptyDir: { mode: 0o700 } }, 'volume.emptyDir.mode is not supported by this agent'],
  [
    'an owner of a file',
    { secret: { items: [{ user: 5 }] } },
    'volume.secret.items[0].user is not supported by this agent',
  ],
  ['a source that is not known', { hologram: {} }, 'volume type hologram is not supported by this agent'],
  ['another medium', { emptyDir: { medium: 'Paper' } }, 'unknown storage medium "Paper"'],
])('a pod with %s does not start, and an Event says so at once', async (_name, source, why) => {
  const events: { readonly reason: string; readonly message: string }[] = [];
  const volumes = new PodVolumes({
    files: systemFiles,
    ...{ scopes: podScopes(), rootDirectory: directories.create(), mounts: false, objects: undefined, allocatable: {} },
    eventRecorder: { event: (event) => void events.push(event) },
    ...{ clock: new FakeClock(), logger: silentLogger },
  });
  const pod = { metadata: { uid: 'u' }, spec: { volumes: [{ name: 'v', ...source }] } };
  const abort = new AbortController();
  const mounted = volumes.waitForAttachAndMount(pod, { signal: abort.signal });
  await expect.poll(() => events).toHaveLength(1);
  expect(events[0]!.reason).toBe('FailedMount');
  expect(events[0]!.message).toContain(`MountVolume.SetUp failed for volume "v" : ${why}`);
  abort.abort(new Error('ended'));
  await expect(mounted).rejects.toThrow('ended');
});
