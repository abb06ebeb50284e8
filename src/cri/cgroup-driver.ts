import type { CgroupFileSystem } from './cgroup-files.ts';
import { type CgroupManager, CgroupfsManager } from './cgroup-manager.ts';
import { hasCode } from './cri-error.ts';
import type { CRIConnection } from './cri-connection.ts';
import type { RunCommand } from './run-command.ts';
import { requireSystemd, SystemdCgroupManager } from './systemd-cgroup-manager.ts';

export interface CgroupDriverOptions {
  readonly endpoint: string;
  readonly runtimeName: string;
  readonly cgroupRoot: string | undefined;
  readonly files: CgroupFileSystem;
  readonly run: RunCommand;
}

/**
 * The cgroup driver of the runtime; undefined if the runtime chooses the cgroups. Rejects if no pod could be started:
 * the driver is systemd and systemd cannot be reached, or containerd would have to choose a slice and has none.
 */
export async function createCgroupManager(
  client: Pick<CRIConnection, 'call'>,
  { endpoint, runtimeName, cgroupRoot, files, run }: CgroupDriverOptions,
): Promise<CgroupManager | undefined> {
  const isSystemd = await usesSystemd(client);
  const problem = `The container runtime at ${endpoint} uses the cgroup driver systemd`;
  if (cgroupRoot === undefined) {
    if (isSystemd && runtimeName === 'containerd')
      throw new Error(`${problem} and needs the slice of each pod: set cgroupRoot, for example to /kubepods`);
    return undefined;
  }
  if (!isSystemd) return new CgroupfsManager(files);
  await requireSystemd(run, problem);
  return new SystemdCgroupManager(files, run);
}

/** Source: kubelet `getCgroupDriverFromCRI`. */
async function usesSystemd(client: Pick<CRIConnection, 'call'>): Promise<boolean> {
  try {
    return (await client.call('RuntimeConfig', {})).linux?.cgroup_driver === 'SYSTEMD';
  } catch (error) {
    if (!hasCode(error, 'Unimplemented')) throw error;
  }
  // containerd before 2.0.
  const { info } = await client.call('Status', { verbose: true });
  return isSystemdConfigured(info['config'] ?? '');
}

interface ContainerdConfig {
  readonly containerd?: {
    readonly defaultRuntimeName?: string;
    readonly runtimes?: Readonly<Record<string, { readonly options?: { readonly SystemdCgroup?: unknown } | null }>>;
  };
}

function isSystemdConfigured(config: string): boolean {
  try {
    const { containerd } = JSON.parse(config) as ContainerdConfig;
    return containerd?.runtimes?.[containerd.defaultRuntimeName ?? '']?.options?.SystemdCgroup === true;
  } catch {
    // Another runtime, whose configuration is not JSON, or not shown.
    return false;
  }
}
