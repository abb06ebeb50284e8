import { readFileSync, writeFileSync } from 'node:fs';
import type { ValidPod } from 'kubelet-status-manager';
import type { PodProvider, ProviderPodReference, ProviderPod } from 'kubelet-status-manager/virtual-nodes';
import { changedSuffix } from './node-pods.ts';

interface CloudPod extends ProviderPodReference {
  readonly state: ProviderPod['state'];
  readonly ip: string;
  readonly containers: readonly string[];
  readonly restartCount: number;
}

/** A cloud in memory that accepts everything immediately, and changes its pods when it is told to. */
export class MemoryCloud implements PodProvider {
  readonly #pods = new Map<string, CloudPod>();
  #listener: ((pod: ProviderPod) => void) | undefined;

  /** @param stateFile what `save` has written */
  constructor(stateFile?: string) {
    if (stateFile === undefined) return;
    for (const pod of JSON.parse(readFileSync(stateFile, 'utf8')) as CloudPod[]) this.#pods.set(pod.uid, pod);
  }

  get size(): number {
    return this.#pods.size;
  }

  async createPod({ metadata: { uid, namespace, name }, spec }: ValidPod): Promise<void> {
    const containers = (spec?.containers ?? []).map((container) => container.name);
    const nodeName = spec?.nodeName ?? '';
    const ip = addressOf(this.#pods.size);
    this.#pods.set(uid, { uid, namespace, name, nodeName, state: 'creating', ip, containers, restartCount: 0 });
  }

  async deletePod({ uid }: ProviderPodReference): Promise<void> {
    this.#pods.delete(uid);
  }

  async getPod({ uid }: ProviderPodReference): Promise<ProviderPod | undefined> {
    const pod = this.#pods.get(uid);
    return pod && reportOf(pod);
  }

  async listPods(): Promise<readonly ProviderPod[]> {
    return Array.from(this.#pods.values(), reportOf);
  }

  notifyPods(listener: (pod: ProviderPod) => void): () => void {
    this.#listener = listener;
    return () => (this.#listener = undefined);
  }

  /** All pods run. */
  run(): void {
    this.#changeAll(running);
  }

  /** At most so many pods more run. Returns how many do. */
  runSome(count: number): number {
    return this.#changeSome(count, ({ state }) => state !== 'creating', running);
  }

  /** The containers of all pods have been restarted once more. */
  restart(): void {
    this.#changeAll(restarted);
  }

  /** The containers of at most so many pods more have been restarted. Returns of how many they have. */
  restartSome(count: number): number {
    return this.#changeSome(count, ({ restartCount }) => restartCount > 0, restarted);
  }

  /** All pods have ended with exit code 0. */
  stop(): void {
    this.#changeAll((pod) => ({ ...pod, state: 'stopped' }));
  }

  /** Writes the pods to a file, and changes one of each node, as the cloud does while nothing runs. */
  save(file: string): void {
    const pods = Array.from(this.#pods.values(), (pod) => (pod.name.endsWith(changedSuffix) ? restarted(pod) : pod));
    writeFileSync(file, JSON.stringify(pods), { mode: 0o600 });
  }

  #changeAll(change: (pod: CloudPod) => CloudPod): void {
    for (const pod of this.#pods.values()) this.#change(pod, change);
  }

  #changeSome(count: number, isDone: (pod: CloudPod) => boolean, change: (pod: CloudPod) => CloudPod): number {
    const pods = [...this.#pods.values()];
    for (const pod of pods.filter((each) => !isDone(each)).slice(0, count)) this.#change(pod, change);
    return [...this.#pods.values()].filter(isDone).length;
  }

  #change(pod: CloudPod, change: (pod: CloudPod) => CloudPod): void {
    const changed = change(pod);
    this.#pods.set(pod.uid, changed);
    this.#listener?.(reportOf(changed));
  }
}

function running(pod: CloudPod): CloudPod {
  return { ...pod, state: 'running' };
}

function restarted(pod: CloudPod): CloudPod {
  return { ...pod, restartCount: pod.restartCount + 1 };
}

/** No pod has that of another. */
function addressOf(index: number): string {
  return [10, index >> 16, (index >> 8) & 255, index & 255].join('.');
}

function reportOf({ uid, namespace, name, nodeName, state, ip, containers, restartCount }: CloudPod): ProviderPod {
  const report = { uid, namespace, name, nodeName, state };
  if (state === 'creating') return report;
  const exit = state === 'stopped' ? { exitCode: 0 } : undefined;
  return { ...report, ips: [ip], containers: containers.map((name) => ({ name, restartCount, exit })) };
}
