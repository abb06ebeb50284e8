import { type CRIClient, hasCode } from './cri-client.ts';

export interface CgroupDriverOptions {
  readonly endpoint: string;
  readonly runtimeName: string;
  readonly cgroupRoot: string | undefined;
}

/**
 * Rejects if the runtime's cgroup driver would refuse each sandbox. The systemd driver takes only the names of slices;
 * without a name, CRI-O chooses a slice, and containerd a name that it then refuses.
 */
export async function requireCgroupDriver(
  client: Pick<CRIClient, 'call'>,
  { endpoint, runtimeName, cgroupRoot }: CgroupDriverOptions,
): Promise<void> {
  if (!(await usesSystemd(client))) return;
  const problem = `The container runtime at ${endpoint} uses the systemd cgroup driver, which is not supported`;
  if (runtimeName === 'containerd')
    throw new Error(`${problem}: set SystemdCgroup = false in containerd's config.toml`);
  if (cgroupRoot !== undefined)
    throw new Error(`${problem}: configure cgroupfs, or let the runtime choose the cgroups`);
}

/** Source: kubelet `getCgroupDriverFromCRI`. */
async function usesSystemd(client: Pick<CRIClient, 'call'>): Promise<boolean> {
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
