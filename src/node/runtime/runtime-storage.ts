import type { HostFiles } from '../host-paths/host-files.ts';

/** An image in the runtime. Source: CRI `Image`. */
export interface RuntimeImage {
  readonly id: string;
  /** Tags and digests, as container statuses may show them. Default: none. */
  readonly names?: readonly string[] | undefined;
  readonly sizeBytes: number;
  /** True for an image that the runtime itself needs. Default: false. */
  readonly pinned?: boolean | undefined;
}

/** A file system of the machine. Source: kubelet `statsapi.FsStats`. */
export interface FileSystemInfo {
  readonly capacityBytes: number;
  /** For processes without privileges. */
  readonly availableBytes: number;
  /** Absent for a file system without a fixed number of inodes, like the next one. */
  readonly inodes?: number | undefined;
  readonly inodesFree?: number | undefined;
}

/** The file system of a path. */
export async function fileSystemInfo(host: Pick<HostFiles, 'statfs'>, path: string): Promise<FileSystemInfo> {
  const { bsize, blocks, bavail, files, ffree } = await host.statfs(path);
  return {
    capacityBytes: bsize * blocks,
    availableBytes: bsize * bavail,
    ...(files > 0 && { inodes: files, inodesFree: ffree }),
  };
}
