import { join } from 'node:path';
import type { Pod } from 'kubelet-status-manager';

/** The longest path of a socket on macOS; Linux allows 107 bytes. Node.js 20 truncates longer paths without an error. */
const maxSocketPathBytes = 103;
const idLength = 12;

/** A name that becomes a file name. The API server checks names, but a static pod does not come from there. */
function fileName(name: string, what: string): string {
  if (/^[A-Za-z0-9]([-.A-Za-z0-9]{0,251}[A-Za-z0-9])?$/.test(name)) return name;
  throw new Error(`${what} must consist of letters, digits, "-" and "."`);
}

/**
 * The files that the runtime needs after a restart:
 *
 * ```
 * pods/<uid>/sandboxes/<id>.json
 * pods/<uid>/containers/<id>/      see ContainerFiles
 * pods/<uid>/volumes/              see createRuntimeHelper
 * logs/<namespace>_<pod>_<uid>/<container>/<restart count>.log
 * s/<container id>                 the socket of its shim
 * ```
 */
export class NodeDirectory {
  readonly path: string;

  /** @throws Error if the path is too long for sockets in the directory */
  constructor(path: string) {
    const excess = Buffer.byteLength(join(path, 's', 'x'.repeat(idLength))) - maxSocketPathBytes;
    if (excess > 0) throw new Error(`the path ${path} is too long for sockets: it must be ${excess} bytes shorter`);
    this.path = path;
  }

  get pods(): string {
    return join(this.path, 'pods');
  }

  get logs(): string {
    return join(this.path, 'logs');
  }

  get sockets(): string {
    return join(this.path, 's');
  }

  podDirectory(podUID: string): string {
    return join(this.pods, fileName(podUID, 'The UID of a pod'));
  }

  sandboxes(podUID: string): string {
    return join(this.podDirectory(podUID), 'sandboxes');
  }

  containers(podUID: string): string {
    return join(this.podDirectory(podUID), 'containers');
  }

  logDirectory({ namespace = '', name = '', uid = '' }: NonNullable<Pod['metadata']>): string {
    const pod = [namespace, name, uid].map((part) => fileName(part, 'The namespace, name and UID of a pod'));
    return join(this.logs, pod.join('_'));
  }

  containerLogDirectory(pod: Pod, containerName: string): string {
    return join(this.logDirectory(pod.metadata ?? {}), fileName(containerName, 'The name of a container'));
  }

  socket(containerID: string): string {
    return join(this.sockets, containerID);
  }
}
