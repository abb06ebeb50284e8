import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Source } from './programs.ts';
import { runCommand } from '../support/run-command.ts';
import { readChecksum } from './versions.ts';

/** A Go module on the disk, from which the programs of a version of Kubernetes are built. */
export interface GoModule {
  readonly folder: string;
  /** The files of k8s.io/kubernetes. */
  readonly sources: string;
}

const etcdMain = `package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
`;

/**
 * Downloads k8s.io/kubernetes and writes a module that depends on it with the versions of its own go.mod. That one
 * cannot be used itself: it replaces modules by folders that only its repository has.
 *
 * @param checksums lines of the module's go.sum, in addition to those of k8s.io/kubernetes; the `go` command compares
 *   every module with them
 */
export async function writeGoModule(folder: string, version: string, checksums: readonly string[]): Promise<GoModule> {
  await mkdir(join(folder, 'etcd'), { recursive: true });
  await writeFile(join(folder, 'go.mod'), 'module programs\n');
  await writeFile(join(folder, 'go.sum'), joinLines(checksums));
  const download = await runCommand('go', ['mod', 'download', '-json', `k8s.io/kubernetes@v${version}`], {
    cwd: folder,
  });
  const { Dir: sources } = JSON.parse(download) as { Dir: string };
  const [goMod, goSum] = await Promise.all(['go.mod', 'go.sum'].map((name) => readFile(join(sources, name), 'utf8')));
  await writeFile(join(folder, 'go.mod'), goModOf(goMod!, version));
  await writeFile(join(folder, 'go.sum'), goSumOf(goSum!, checksums));
  await writeFile(join(folder, 'etcd', 'main.go'), etcdMain);
  return { folder, sources };
}

/** The go.mod of Kubernetes' repository, with the published modules in place of the folders `staging/src/…`. */
export function goModOf(kubernetes: string, version: string): string {
  const published = kubernetes
    .replace(/^module .*$/m, 'module programs')
    .replaceAll(/=> \.\/staging\/src\/(\S+)/g, `=> $1 v0${version.slice(version.indexOf('.'))}`);
  return `${published}\nrequire k8s.io/kubernetes v${version}\n`;
}

/** All checksums; where Kubernetes' own go.sum has another one, ours counts. */
export function goSumOf(kubernetes: string, checksums: readonly string[]): string {
  const keyOf = (line: string): string => {
    const { module, version } = readChecksum(line);
    return `${module} ${version}`;
  };
  const ours = new Set(checksums.map(keyOf));
  const theirs = kubernetes.split('\n').filter((line) => line !== '' && !ours.has(keyOf(line)));
  return joinLines([...theirs, ...checksums]);
}

/** The checksums that the sources need beside those of Kubernetes' own go.sum, as the public checksum database has them. */
export async function findChecksums({ folder, sources }: GoModule, programs: readonly Source[]): Promise<string[]> {
  const packages = programs.flatMap((source) => source.package ?? []);
  await runCommand('go', ['list', '-mod=mod', '-deps', '-test', ...packages], { cwd: folder });
  const [found, kubernetes] = await Promise.all([folder, sources].map((one) => readFile(join(one, 'go.sum'), 'utf8')));
  const known = new Set(kubernetes!.split('\n'));
  const modules = new Set(programs.map(({ module }) => module));
  return found!
    .split('\n')
    .filter((line) => line !== '' && (!known.has(line) || modules.has(readChecksum(line).module)));
}

function joinLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}
