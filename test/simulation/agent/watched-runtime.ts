import type { ContainerConfig, ContainerRuntime, PodSandboxConfig } from '../../../src/agent/index.ts';
import type { Container, EphemeralContainer, ValidPod } from '../../../src/kube/objects/types.ts';

/** Is told of what an agent asks its runtime. */
export interface RuntimeWatcher {
  /** Of each call. */
  called(): void;
  /** Something that has an effect begins for a pod. */
  began(what: string, pod: ValidPod, container?: Container | EphemeralContainer): void;
}

type AnyMethod = (...args: never[]) => unknown;

/** The pod and the container of a call, by its method. */
const subjects: Readonly<Record<string, AnyMethod>> = {
  preparePod: (pod: ValidPod) => [pod],
  runPodSandbox: ({ pod }: PodSandboxConfig) => [pod],
  createContainer: ({ pod, container }: ContainerConfig) => [pod, container],
  pullImage: (_: string, pod: ValidPod) => [pod],
};

/** The same runtime, whose calls `watcher` sees. */
export function watchedRuntime(runtime: ContainerRuntime, watcher: RuntimeWatcher): ContainerRuntime {
  return new Proxy(runtime, {
    get(target, name) {
      const method = Reflect.get(target, name) as unknown;
      if (typeof method !== 'function') return method;
      return (...args: never[]): unknown => {
        watcher.called();
        const subject = subjects[String(name)]?.(...args) as [ValidPod, Container?] | undefined;
        if (subject !== undefined) watcher.began(String(name), ...subject);
        return Reflect.apply(method, target, args) as unknown;
      };
    },
  });
}
