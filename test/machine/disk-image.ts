import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder } from '../support/cache-folder.ts';
import { runCommand } from '../support/run-command.ts';

export interface DiskImageOptions {
  /** The name of Debian's release. */
  readonly release: string;
  /** Besides those that start the machine, and SSH. */
  readonly packages: readonly string[];
  /** Of the machine, with the length of the network's prefix. */
  readonly address: string;
  readonly gateway: string;
  readonly hostname: string;
}

/** What a machine is started from. */
export interface DiskImage {
  readonly kernel: string;
  readonly initrd: string;
  /** A root file system without anything of a node. */
  readonly disk: string;
  /** The private key of root. */
  readonly key: string;
}

const basePackages = ['systemd', 'systemd-sysv', 'udev', 'dbus', 'linux-image-cloud-amd64', 'openssh-server'];
const diskSize = '12G';

/** A Debian machine as its installer leaves it: made from packages at the first call, later taken from a cache folder. */
export async function makeDiskImage(options: DiskImageOptions, signal: AbortSignal): Promise<DiskImage> {
  const digest = createHash('sha256')
    .update(JSON.stringify([options, basePackages, diskSize]))
    .digest('hex');
  const cache = cacheFolder('machine');
  const folder = join(cache, digest.slice(0, 16));
  if (!existsSync(folder)) {
    await mkdir(cache, { recursive: true });
    const work = await mkdtemp(join(cache, 'making-'));
    try {
      await fill(work, options, signal);
      await rename(work, folder);
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }
  const file = (name: string): string => join(folder, name);
  return { kernel: file('vmlinuz'), initrd: file('initrd.img'), disk: file('root.img'), key: file('key') };
}

async function fill(folder: string, options: DiskImageOptions, signal: AbortSignal): Promise<void> {
  const root = join(folder, 'root');
  const archive = join(folder, 'root.tar');
  const packages = [...basePackages, ...options.packages].join(',');
  const debootstrap = ['--quiet', '--variant=minbase', `--include=${packages}`, options.release, archive];
  await runCommand('mmdebstrap', debootstrap, { signal });
  await mkdir(root);
  await runCommand('tar', ['-xf', archive, '-C', root], { signal });
  await runCommand('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, 'key')], { signal });
  await mkdir(join(root, 'root/.ssh'), { mode: 0o700, recursive: true });
  await copyFile(join(folder, 'key.pub'), join(root, 'root/.ssh/authorized_keys'));
  await chmod(join(root, 'root/.ssh/authorized_keys'), 0o600);
  await configure(root, options);
  for (const name of await readdir(join(root, 'boot'))) {
    const [, kind] = /^(vmlinuz|initrd\.img)-/.exec(name) ?? [];
    if (kind !== undefined) await copyFile(join(root, 'boot', name), join(folder, kind));
  }
  const disk = join(folder, 'root.img');
  await runCommand('truncate', ['-s', diskSize, disk], { signal });
  await runCommand('mkfs.ext4', ['-q', '-d', root, disk], { signal });
  await rm(root, { recursive: true });
  await rm(archive);
}

async function configure(root: string, { address, gateway, hostname }: DiskImageOptions): Promise<void> {
  const files = {
    'etc/hostname': `${hostname}\n`,
    'etc/hosts': `127.0.0.1 localhost\n127.0.1.1 ${hostname}\n`,
    'etc/fstab': '/dev/vda / ext4 defaults 0 1\n',
    'etc/systemd/network/10-wired.network': `[Match]\nName=en*\n[Network]\nAddress=${address}\nGateway=${gateway}\n`,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(root, name), text);
  for (const unit of ['systemd-networkd', 'systemd-networkd-wait-online'])
    await symlink(
      `/usr/lib/systemd/system/${unit}.service`,
      join(root, 'etc/systemd/system/multi-user.target.wants', `${unit}.service`),
    );
}
