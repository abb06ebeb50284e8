import type { ContainerRuntime, RuntimePod } from '../../../src/node/runtime/container-runtime.ts';
import type { CRIRuntime } from '../../../src/cri/cri-runtime.ts';
import { resourcesFromStatus } from '../../../src/cri/linux-resources.ts';
import { podUIDLabel } from '../../../src/cri/labels.ts';
import { received } from './received.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { CRIContainer, SimulatedCRIService } from './simulated-cri-service.ts';

const rankOf: Readonly<Record<string, number>> = {
  ...{ CONTAINER_CREATED: 0, CONTAINER_RUNNING: 1, CONTAINER_EXITED: 2, CONTAINER_UNKNOWN: 3 },
  ...{ created: 0, running: 1, exited: 2, unknown: 3 },
};
const unknown = rankOf['unknown'];

export interface ObservedRuntimeOptions {
  readonly service: SimulatedCRIService;
  readonly process: SimulatedProcess;
}

/**
 * The same runtime. What it shows of pods is never older than what the service had when the call began, nor than what an
 * earlier call has shown; it shows all containers that were there all the time, and none that was removed before.
 */
export function observedRuntime(runtime: CRIRuntime, { service, process }: ObservedRuntimeOptions): ContainerRuntime {
  const { world } = process;
  const removed = new Set<string>();
  const isOf = (podUID: string | undefined, container: CRIContainer): boolean =>
    podUID === undefined || container.config.labels?.[podUIDLabel] === podUID;
  const observe = async <T extends readonly RuntimePod[]>(
    podUID: string | undefined,
    call: () => Promise<T>,
  ): Promise<T> => {
    const before = new Map(
      [...service.containers.values()].filter((one) => isOf(podUID, one)).map((one) => [one.id, { ...one }] as const),
    );
    const goneBefore = new Set(removed);
    const pods = await call();
    if (!process.isAlive) return pods;
    const shown = new Map(pods.flatMap(({ containers }) => containers).map((one) => [bareID(one.id), one]));
    for (const [id, was] of before) {
      const now = service.containers.get(id);
      const status = shown.get(id);
      if (now === undefined) continue;
      const where = `${id} of ${was.podUID}: ${was.state} at the beginning, ${now.state} now`;
      if (status === undefined) world.violate('what exists is shown', where);
      else if (
        rankOf[now.state] !== unknown &&
        rankOf[was.state] !== unknown &&
        rankOf[status.state]! < rankOf[was.state]!
      )
        world.violate('a status is not older than its call', `${where}, ${status.state} is shown`);
      // Each update makes a new object: they may have been others in the meantime.
      else if (was.resources === now.resources) {
        const expected = JSON.stringify(resourcesFromStatus(received('LinuxContainerResources', was.resources)));
        if (JSON.stringify(status.resources) !== expected)
          world.violate(
            'resources are not older than their call',
            `${where}: ${expected}, ${JSON.stringify(status.resources)}`,
          );
      }
    }
    for (const id of shown.keys()) if (goneBefore.has(id)) world.violate('what was removed is not shown', id);
    return pods;
  };
  const changed: Pick<ContainerRuntime, 'getPod' | 'listPods' | 'removeContainer'> = {
    listPods: (options) => observe(undefined, () => runtime.listPods(options)),
    getPod: async (podUID, options) =>
      (
        await observe(podUID, async () => {
          const pod = await runtime.getPod(podUID, options);
          return pod === undefined ? [] : [pod];
        })
      )[0],
    removeContainer: async (id, options) => {
      await runtime.removeContainer(id, options);
      removed.add(bareID(id));
    },
  };
  return new Proxy(runtime, {
    get(target, name) {
      if (name in changed) return changed[name as keyof typeof changed];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function bareID(id: string): string {
  return id.slice(id.indexOf('://') + 3);
}
