import { isRestartableInitContainer } from '../../status-manager/status/container-restart.ts';
import type { Pod } from '../../kube/objects/types.ts';

/**
 * The order in which the running containers of a pod are stopped: first all regular containers
 * together, then the sidecars in the reverse order of the spec. Source: kubelet `terminationOrdering`.
 */
export class TerminationOrdering {
  readonly #terminated = new Map<string, { readonly promise: Promise<void>; readonly resolve: () => void }>();
  readonly #prerequisites = new Map<string, readonly Promise<void>[]>();

  constructor({ spec }: Pod, runningContainerNames: readonly string[]) {
    for (const name of runningContainerNames) {
      let resolve = (): void => {};
      const promise = new Promise<void>((done) => (resolve = done));
      this.#terminated.set(name, { promise, resolve });
    }
    const before = (spec?.containers ?? []).map(({ name }) => name);
    for (const container of (spec?.initContainers ?? []).filter(isRestartableInitContainer).toReversed()) {
      const prerequisites = before.flatMap((name) => this.#terminated.get(name)?.promise ?? []);
      this.#prerequisites.set(container.name, prerequisites);
      before.push(container.name);
    }
  }

  /** Resolves when the containers that must end before this one have ended. */
  async turnOf(containerName: string): Promise<void> {
    await Promise.all(this.#prerequisites.get(containerName) ?? []);
  }

  containerTerminated(containerName: string): void {
    this.#terminated.get(containerName)?.resolve();
  }
}
