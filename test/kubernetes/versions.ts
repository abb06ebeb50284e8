import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../support/repository.ts';

/** Where the versions and checksums are kept, from the folder of package.json. */
export const versionsFile = 'test/kubernetes/versions.json';

/**
 * Version of Kubernetes → lines of a `go.sum`: the checksums of k8s.io/kubernetes, of the modules that its own `go.sum`
 * leaves out because its repository holds them, and of the modules of etcd and Ginkgo. The first version is that of
 * the kubelet; of the others there is only kube-apiserver.
 */
export type Versions = Readonly<Record<string, readonly string[]>>;

export const versions = JSON.parse(readFileSync(join(repository, versionsFile), 'utf8')) as Versions;
export const [kubeletVersion = ''] = Object.keys(versions);

export function writeVersions(changed: Versions): void {
  writeFileSync(join(repository, versionsFile), `${JSON.stringify(changed, undefined, 2)}\n`);
}

/** A line of a `go.sum`: of a module, or of its go.mod. */
export interface Checksum {
  readonly module: string;
  readonly version: string;
  readonly sum: string;
}

export function readChecksum(line: string): Checksum {
  const [module = '', version = '', sum = ''] = line.split(' ');
  return { module, version, sum };
}

/** @throws Error if the versions do not have it */
export function checksumOf(module: string, lines: readonly string[]): Checksum {
  const found = lines.map(readChecksum).find((one) => one.module === module && !one.version.endsWith('/go.mod'));
  if (found === undefined) throw new Error(`${versionsFile} has no checksum of ${module}`);
  return found;
}
