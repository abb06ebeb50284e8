import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Pod } from '../kube/objects/types.ts';
import { requireName } from '../node/index.ts';
import { refuseOption } from '../shared/errors.ts';
import { makeDirectoriesSync } from '../shared/make-directories.ts';
import { writeJSONFile } from './durable-file.ts';

/** The longest path of a socket on macOS; Linux allows 107 bytes. Node.js 20 truncates longer paths without an error. */
const maxSocketPathBytes = 103;
const idLength = 12;

/**
 * The files that the runtime needs after a restart:
 *
 * ```
 * process-runtime.json             says that the folders are those of a process runtime
 * pods/<uid>/sandboxes/<id>.json
 * pods/<uid>/containers/<id>/      see ContainerFiles
 * pods/<uid>/volumes/              see createRuntimeHelper
 * logs/<namespace>_<pod>_<uid>/<container>/<restart count>.log
 * s/<container id>                 the socket of its shim
 * ```
 */
export class NodeDirectory {
  readonly pods: string;
  readonly logs: string;
  readonly sockets: string;
  readonly #marker: string;

  constructor(path: string) {
    this.pods = join(path, 'pods');
    this.logs = join(path, 'logs');
    this.sockets = join(path, 's');
    this.#marker = join(path, 'process-runtime.json');
  }

  /** By how many bytes a path is too long for sockets in it. */
  static excessBytes(path: string): number {
    return Buffer.byteLength(join(path, 's', 'x'.repeat(idLength))) - maxSocketPathBytes;
  }

  /** Unknown entries are removed from the folders, so folders of another program are refused. @throws StatusManagerError */
  claim(): void {
    if (!existsSync(this.#marker)) {
      const foreign = this.#folders().find((path) => filesIn(path).length > 0);
      if (foreign !== undefined)
        refuseOption('rootDirectory', `a directory of its own, but ${foreign} has files of another program`);
    }
    this.make();
  }

  /** Makes the folders that are missing. @throws Error if they cannot be used */
  make(): void {
    for (const path of this.#folders()) {
      makeDirectoriesSync(path, 0o700);
      accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    }
    if (!existsSync(this.#marker)) writeJSONFile(this.#marker, { version: 1 });
  }

  podDirectory(podUID: string): string {
    return join(this.pods, requireName(podUID));
  }

  sandboxes(podUID: string): string {
    return join(this.podDirectory(podUID), 'sandboxes');
  }

  containers(podUID: string): string {
    return join(this.podDirectory(podUID), 'containers');
  }

  logDirectory({ namespace = '', name = '', uid = '' }: NonNullable<Pod['metadata']>): string {
    return join(this.logs, [namespace, name, uid].map(requireName).join('_'));
  }

  containerLogDirectory(pod: Pod, containerName: string): string {
    return join(this.logDirectory(pod.metadata ?? {}), requireName(containerName));
  }

  socket(containerID: string): string {
    return join(this.sockets, containerID);
  }

  #folders(): string[] {
    return [this.pods, this.logs, this.sockets];
  }
}

/** The paths of the entries of a directory; empty if it does not exist. */
export function filesIn(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory).map((name) => join(directory, name)) : [];
}
