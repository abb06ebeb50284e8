import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../support/cache-folder.ts';
import { type Checksum, checksumOf, kubeletVersion, versions } from './versions.ts';

/** How a program comes from the modules. */
export interface Source {
  readonly module: string;
  /** Absent: a program in C. */
  readonly package?: string;
  /** Whether it consists of Go tests. */
  readonly isTest?: boolean;
}

const kubernetes = 'k8s.io/kubernetes';

const sources = {
  etcd: { module: 'go.etcd.io/etcd/server/v3', package: './etcd' },
  'kube-apiserver': { module: kubernetes, package: `${kubernetes}/cmd/kube-apiserver` },
  'kube-controller-manager': { module: kubernetes, package: `${kubernetes}/cmd/kube-controller-manager` },
  'kube-scheduler': { module: kubernetes, package: `${kubernetes}/cmd/kube-scheduler` },
  kubelet: { module: kubernetes, package: `${kubernetes}/cmd/kubelet` },
  pause: { module: kubernetes },
  agnhost: { module: kubernetes, package: `${kubernetes}/test/images/agnhost` },
  kubectl: { module: kubernetes, package: `${kubernetes}/cmd/kubectl` },
  ginkgo: { module: 'github.com/onsi/ginkgo/v2', package: 'github.com/onsi/ginkgo/v2/ginkgo' },
  'e2e.test': { module: kubernetes, package: `${kubernetes}/test/e2e`, isTest: true },
} as const satisfies Readonly<Record<string, Source>>;

export type ProgramName = keyof typeof sources;

const apiServer = ['etcd', 'kube-apiserver'] as const;
const node = [
  ...apiServer,
  ...(['kube-controller-manager', 'kube-scheduler', 'kubelet', 'pause', 'agnhost'] as const),
] as const;

/** What is needed for what, of the version of the kubelet; `api-servers` are of every version. */
export const sets = {
  'api-servers': apiServer,
  node,
  conformance: [...node, 'kubectl', 'ginkgo', 'e2e.test'],
} as const satisfies Readonly<Record<string, readonly ProgramName[]>>;

export type SetName = keyof typeof sets;
export const setNames = Object.keys(sets) as readonly SetName[];

/** A program of a version of Kubernetes. The etcd of all versions is one. */
export interface Program {
  readonly name: ProgramName;
  readonly version: string;
}

/** The programs of sets, each once. */
export function programsOf(
  names: readonly SetName[],
  apiServerVersions: readonly string[] = Object.keys(versions),
): Program[] {
  const all = names.flatMap((set) =>
    (set === 'api-servers' ? apiServerVersions : [kubeletVersion]).flatMap((version) =>
      sets[set].map((name): Program => ({ name, version: name === 'etcd' ? kubeletVersion : version })),
    ),
  );
  return [...new Map(all.map((program) => [pathOf(program), program])).values()];
}

export function sourceOf({ name }: Program): Source {
  return sources[name];
}

export function programsFolder(version = kubeletVersion): string {
  return join(cacheFolder('kubernetes'), version);
}

/** The folder of the Go module from which the programs of a version are built. */
export function moduleFolder(version: string): string {
  return join(cacheFolder('kubernetes'), 'modules', version);
}

export function pathOf({ name, version }: Program): string {
  return join(programsFolder(version), name);
}

export function isPresent(program: Program): boolean {
  return existsSync(pathOf(program));
}

/** `kubelet 1.37.1`, `etcd 3.7.0`. */
export function titleOf(program: Program): string {
  return `${program.name} ${moduleOf(program).version.slice(1)}`;
}

/** The module of the program, with its checksum. */
export function moduleOf(program: Program): Checksum {
  return checksumOf(sourceOf(program).module, versions[program.version] ?? []);
}

/** Puts etcd beside the kube-apiserver of another version, so that one folder has both. */
export function linkEtcd(version: string): void {
  if (version === kubeletVersion) return;
  const link = join(programsFolder(version), 'etcd');
  mkdirSync(programsFolder(version), { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(join('..', kubeletVersion, 'etcd'), link);
}
