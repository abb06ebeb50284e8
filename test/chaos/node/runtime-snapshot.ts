import { CRIClient } from '../../../src/cri/cri-client.ts';
import { containerNameLabel, podUIDLabel, restartCountAnnotation } from '../../../src/cri/labels.ts';

/** One run of a container, as containerd shows it. */
export interface SeenContainer {
  readonly id: string;
  readonly podUID: string;
  readonly name: string;
  readonly attempt: number;
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
  readonly createdAt: number;
  /** Of one that has exited. */
  readonly exitCode?: number | undefined;
}

export interface SeenSandbox {
  readonly id: string;
  readonly podUID: string;
  readonly ready: boolean;
}

/** What containerd has, at one time. */
export interface RuntimeSnapshot {
  readonly sandboxes: readonly SeenSandbox[];
  readonly containers: readonly SeenContainer[];
}

const timeoutMs = 10_000;
const states = {
  CONTAINER_CREATED: 'created',
  CONTAINER_RUNNING: 'running',
  CONTAINER_EXITED: 'exited',
  CONTAINER_UNKNOWN: 'unknown',
} as const;

/** Reads containerd without the agent. */
export class RuntimeReader {
  readonly #client: CRIClient;
  readonly #exitCodes = new Map<string, number>();

  constructor(endpoint: string) {
    this.#client = new CRIClient(endpoint);
  }

  /** Rejects while containerd does not respond. */
  async read(): Promise<RuntimeSnapshot> {
    const signal = AbortSignal.timeout(timeoutMs);
    const [{ containers }, { items }] = await Promise.all([
      this.#client.call('ListContainers', {}, { signal }),
      this.#client.call('ListPodSandbox', {}, { signal }),
    ]);
    const sandboxes = items.map(({ id, state, labels }) => ({
      id,
      podUID: labels[podUIDLabel] ?? '',
      ready: state === 'SANDBOX_READY',
    }));
    const seen: SeenContainer[] = [];
    for (const { id, state, labels, annotations, created_at: createdAt } of containers) {
      seen.push({
        id,
        podUID: labels[podUIDLabel] ?? '',
        name: labels[containerNameLabel] ?? '',
        attempt: Number(annotations[restartCountAnnotation]),
        state: states[state],
        createdAt,
        exitCode: state === 'CONTAINER_EXITED' ? await this.#exitCodeOf(id, signal) : undefined,
      });
    }
    return { sandboxes, containers: seen };
  }

  close(): void {
    this.#client.close();
  }

  /** Undefined for a container that has just been removed. */
  async #exitCodeOf(id: string, signal: AbortSignal): Promise<number | undefined> {
    if (!this.#exitCodes.has(id)) {
      const response = await this.#client.call('ContainerStatus', { container_id: id }, { signal }).catch(() => {});
      if (response?.status != null) this.#exitCodes.set(id, response.status.exit_code);
    }
    return this.#exitCodes.get(id);
  }
}
