import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { programsFolder } from '../../kubernetes/programs.ts';
import { runCommand } from '../run-command.ts';

/*
 * The images that the shapes and Kubernetes' e2e tests use, made of what is on this machine: no registry can be
 * reached. They are as far like the published ones as tests can tell.
 */

/** The folder of a layer's files → writes them. */
type Layer = (folder: string) => Promise<void>;

interface Image {
  readonly names: readonly string[];
  readonly layers: readonly LayerName[];
  readonly config: { readonly Entrypoint?: string[]; readonly Cmd?: string[]; readonly User?: string };
}

const busyboxFile = '/bin/busybox';

const layers = {
  pause: (folder) => addFile(folder, join(programsFolder(), 'pause'), '/pause'),
  busybox: async (folder) => {
    await addFile(folder, busyboxFile, '/bin/busybox');
    const applets = (await runCommand(busyboxFile, ['--list']))
      .split('\n')
      .filter((name) => name && name !== 'busybox');
    await Promise.all(applets.map((name) => symlink('busybox', join(folder, 'bin', name))));
    await Promise.all(['tmp', 'root', 'etc'].map((name) => mkdir(join(folder, name))));
    await writeFile(join(folder, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
    await writeFile(join(folder, 'etc/group'), 'root:x:0:\n');
  },
  agnhost: async (folder) => {
    await addFile(folder, join(programsFolder(), 'agnhost'), '/agnhost');
    await symlink('agnhost', join(folder, 'agnhost-2'));
    await mkdir(join(folder, 'uploads'));
    for (const program of ['/usr/bin/curl', '/bin/bash']) await addProgram(folder, program);
    // The names that the e2e tests expect in this image.
    await mkdir(join(folder, 'etc'));
    const user = 'user-defined-in-image';
    await writeFile(
      join(folder, 'etc/passwd'),
      `root:x:0:0:root:/root:/bin/sh\n${user}:x:1000:1000::/home/${user}:/bin/sh\n`,
    );
    await writeFile(join(folder, 'etc/group'), `root:x:0:\n${user}:x:1000:\ngroup-defined-in-image:x:50000:${user}\n`);
  },
  nginx: async (folder) => {
    await mkdir(join(folder, 'www'));
    await writeFile(join(folder, 'www/index.html'), '<title>Welcome to nginx!</title>\n');
  },
} as const satisfies Readonly<Record<string, Layer>>;

type LayerName = keyof typeof layers;

const images: readonly Image[] = [
  { names: ['registry.k8s.io/pause:3.10.2'], layers: ['pause'], config: { Entrypoint: ['/pause'] } },
  {
    names: ['docker.io/library/busybox:1', 'registry.k8s.io/e2e-test-images/busybox:1.37.0-2'],
    layers: ['busybox'],
    config: { Cmd: ['sh'] },
  },
  {
    names: ['2.66.1', '2.55'].map((tag) => `registry.k8s.io/e2e-test-images/agnhost:${tag}`),
    layers: ['busybox', 'agnhost'],
    config: { Entrypoint: ['/agnhost'], Cmd: ['pause'] },
  },
  {
    names: ['registry.k8s.io/e2e-test-images/nonroot:1.5'],
    layers: ['busybox'],
    config: { Cmd: ['sh'], User: '1234' },
  },
  {
    names: ['1.27.0-2', '1.28.0-2'].map((tag) => `registry.k8s.io/e2e-test-images/nginx:${tag}`),
    layers: ['busybox', 'nginx'],
    config: { Cmd: ['httpd', '-f', '-p', '80', '-h', '/www'] },
  },
];

/**
 * Imports all images into a containerd.
 *
 * @param folder for temporary files
 */
export async function importImages(socket: string, folder: string, signal?: AbortSignal): Promise<void> {
  const archive = await archiveImages(folder, signal);
  await runCommand('ctr', ['-a', socket, '-n', 'k8s.io', 'images', 'import', archive], { signal });
  await rm(folder, { recursive: true, force: true });
}

/**
 * Resolves with the path of an archive of all images, as `ctr images import` takes it.
 *
 * @param folder is emptied
 */
export async function archiveImages(folder: string, signal?: AbortSignal): Promise<string> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const digests = new Map<LayerName, string>();
  for (const name of Object.keys(layers) as LayerName[]) digests.set(name, await makeLayer(folder, name, signal));
  const manifest = await Promise.all(
    images.map(async ({ names, layers: parts, config }) => {
      const diffIds = parts.map((name) => `sha256:${digests.get(name)}`);
      const Config = await addConfig(folder, config, diffIds);
      return { Config, RepoTags: names, Layers: parts.map((name) => `${name}.tar`) };
    }),
  );
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest));
  const archive = join(folder, 'images.tar');
  const files = [
    'manifest.json',
    ...manifest.map(({ Config }) => Config),
    ...[...digests.keys()].map((name) => `${name}.tar`),
  ];
  await runCommand('tar', ['-C', folder, '-cf', archive, ...new Set(files)], { signal });
  return archive;
}

/** Resolves with the digest of the layer's archive. */
async function makeLayer(folder: string, name: LayerName, signal?: AbortSignal): Promise<string> {
  const files = join(folder, name);
  await mkdir(files);
  await layers[name](files);
  const archive = join(folder, `${name}.tar`);
  await runCommand('tar', ['-C', files, '-cf', archive, '.'], { signal });
  return digestOf(await readFile(archive));
}

/** Resolves with the name of the file. */
async function addConfig(folder: string, config: Image['config'], diffIds: readonly string[]): Promise<string> {
  const Env = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];
  const text = JSON.stringify({
    architecture: { arm64: 'arm64', x64: 'amd64' }[process.arch as string] ?? process.arch,
    os: 'linux',
    config: { Env, ...config },
    rootfs: { type: 'layers', diff_ids: diffIds },
  });
  const name = `${digestOf(text)}.json`;
  await writeFile(join(folder, name), text);
  return name;
}

async function addFile(folder: string, source: string, target: string): Promise<void> {
  await mkdir(join(folder, dirname(target)), { recursive: true });
  await copyFile(source, join(folder, target));
}

/** A program of this machine with its libraries, if there is one. */
async function addProgram(folder: string, path: string): Promise<void> {
  if (!existsSync(path)) return;
  await addFile(folder, path, path);
  const libraries = (await runCommand('ldd', [path])).match(/\/\S+/g) ?? [];
  for (const library of libraries) await addFile(folder, library, library);
}

function digestOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
