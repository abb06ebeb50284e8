import { normalizeSysctl } from '../../kube/pods/normalize-sysctl.ts';
import { podSpecOf } from '../../kube/objects/kube-object.ts';
import { refuseOption } from '../../shared/errors.ts';
import type { PodAdmitHandler, PodAdmitResult } from '../../node/index.ts';

/** A kernel namespace that isolates sysctls. Source: component-helpers `sysctl.Namespace`. */
type Namespace = 'IPC' | 'Net' | 'UTS' | 'User';

const namespaces: Readonly<Record<string, Namespace>> = {
  'kernel.domainname': 'UTS',
  'kernel.sem': 'IPC',
  'kernel.shmall': 'IPC',
  'kernel.shmmax': 'IPC',
  'kernel.shmmni': 'IPC',
  'kernel.shm_rmid_forced': 'IPC',
  'kernel.shm': 'IPC',
  'kernel.msgmax': 'IPC',
  'kernel.msgmnb': 'IPC',
  'kernel.msgmni': 'IPC',
  'kernel.msg': 'IPC',
};
const namespacesByPrefix: Readonly<Record<string, Namespace>> = { 'net.': 'Net', 'fs.mqueue.': 'IPC', 'user.': 'User' };

/** Sysctls that affect only the pod itself, with the first kernel version in which they do. Source: kubelet `safeSysctls`. */
const safeSysctls: readonly (readonly [name: string, kernel?: readonly [number, number]])[] = [
  ['kernel.shm_rmid_forced'],
  ['net.ipv4.ip_local_port_range'],
  ['net.ipv4.tcp_syncookies'],
  ['net.ipv4.ping_group_range'],
  ['net.ipv4.ip_unprivileged_port_start'],
  ['net.ipv4.ip_local_reserved_ports', [3, 16]],
  ['net.ipv4.tcp_keepalive_time', [4, 5]],
  ['net.ipv4.tcp_fin_timeout', [4, 6]],
  ['net.ipv4.tcp_keepalive_intvl', [4, 5]],
  ['net.ipv4.tcp_keepalive_probes', [4, 5]],
  ['net.ipv4.tcp_rmem', [4, 15]],
  ['net.ipv4.tcp_wmem', [4, 15]],
  ['net.ipv4.tcp_slow_start_after_idle', [4, 15]],
  ['net.ipv4.tcp_notsent_lowat', [4, 6]],
];

/**
 * The sysctls that every pod may set, by the kernel's release as `os.release()` gives it.
 * Source: kubelet `SafeSysctlAllowlist`.
 */
export function safeSysctlAllowlist(kernelRelease: string): string[] {
  const [, major = 0, minor = 0] = /^v?(\d+)\.(\d+)/.exec(kernelRelease)?.map(Number) ?? [];
  return safeSysctls
    .filter(([, kernel = [0, 0]]) => major > kernel[0] || (major === kernel[0] && minor >= kernel[1]))
    .map(([name]) => name);
}

const patternShape = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]$/;
const maxLength = 253;

/**
 * Refuses pods with sysctls that are not in a list of names, and of prefixes that end in `*`. Source: kubelet `patternAllowlist`.
 */
export class SysctlAllowlist implements PodAdmitHandler {
  readonly #sysctls = new Map<string, Namespace>();
  readonly #prefixes = new Map<string, Namespace>();

  /** @throws StatusManagerError INVALID_OPTION; its path is in `allowedUnsafeSysctls` */
  constructor(safe: readonly string[], allowedUnsafe: readonly string[]) {
    for (const name of safe) this.#add(name, '');
    for (const [index, pattern] of allowedUnsafe.entries()) this.#add(pattern, `allowedUnsafeSysctls[${index}]`);
  }

  admit({ pod }: Parameters<PodAdmitHandler['admit']>[0]): PodAdmitResult {
    const { securityContext, hostNetwork = false, hostIPC = false, hostUsers = true } = podSpecOf(pod);
    const shared = new Set<Namespace>([
      ...(hostNetwork ? (['Net'] as const) : []),
      ...(hostIPC ? (['IPC'] as const) : []),
      ...(hostUsers ? (['User'] as const) : []),
    ]);
    for (const { name } of securityContext?.sysctls ?? []) {
      const error = this.#errorOf(normalizeSysctl(name), shared);
      if (error !== undefined)
        return { admit: false, reason: 'SysctlForbidden', message: `forbidden sysctl: ${error}` };
    }
    return { admit: true };
  }

  #add(pattern: string, path: string): void {
    if (typeof pattern !== 'string' || pattern.length > maxLength || !patternShape.test(pattern))
      refuseOption(path, 'a sysctl like net.core.somaxconn, or a prefix of sysctls like net.core.*', pattern);
    const [name, suffix] = normalizeSysctl(pattern).split('*', 2) as [string, string?];
    const namespace = namespaceOf(name);
    if (namespace === undefined)
      refuseOption(
        path,
        'a sysctl that is known to have a namespace: kernel.shm*, kernel.msg*, kernel.sem, fs.mqueue.*, net.*, user.*',
        pattern,
      );
    (suffix === undefined ? this.#sysctls : this.#prefixes).set(name, namespace);
  }

  #errorOf(sysctl: string, shared: ReadonlySet<Namespace>): string | undefined {
    const namespace =
      this.#sysctls.get(sysctl) ?? [...this.#prefixes].find(([prefix]) => sysctl.startsWith(prefix))?.[1];
    if (namespace === undefined) return `${JSON.stringify(sysctl)} not allowlisted`;
    return shared.has(namespace) ? `${JSON.stringify(sysctl)} not allowed with host ${namespace} enabled` : undefined;
  }
}

/** Source: component-helpers `sysctl.GetNamespace`. */
function namespaceOf(name: string): Namespace | undefined {
  if (Object.hasOwn(namespaces, name)) return namespaces[name];
  return Object.entries(namespacesByPrefix).find(([prefix]) => name.startsWith(prefix))?.[1];
}
