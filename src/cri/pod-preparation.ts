import { type KubeObject, podSpecOf } from '../kube/objects/kube-object.ts';
import type { ValidPod } from '../kube/objects/types.ts';
import type { PreparedContainerFiles } from './prepared-container-files.ts';

export interface PreparationSteps {
  readonly imageRef: (image: string) => Promise<string | undefined>;
  readonly makeFiles: (container: KubeObject<'Container'>, signal: AbortSignal) => Promise<PreparedContainerFiles>;
}

/**
 * Prepares the first containers of a pod while the runtime creates the sandbox. Each result is returned once. A result
 * that is missing or has failed is undefined: the caller then tries again and reports the error.
 */
export class PodPreparation {
  readonly #stop = new AbortController();
  readonly #imageRefs: Map<string, Promise<string | undefined>>;
  readonly #files: Map<string, Promise<PreparedContainerFiles | undefined>>;

  /** Starts all steps. */
  constructor(pod: ValidPod, { imageRef, makeFiles }: PreparationSteps) {
    const { initContainers = [], containers = [] } = podSpecOf(pod);
    // The images of later containers could be removed again before those are started.
    const first = initContainers.length > 0 ? initContainers.slice(0, 1) : containers;
    const images = new Set(first.map(({ image = '' }) => image));
    this.#imageRefs = new Map([...images].map((image) => [image, imageRef(image).catch(() => undefined)]));
    const { signal } = this.#stop;
    this.#files = new Map(
      first.map((container) => [container.name, makeFiles(container, signal).catch(() => undefined)]),
    );
  }

  /** Makes no more files: the sandbox has not been created, or is stopped. */
  stop(): void {
    this.#stop.abort();
  }

  takeImageRef(image: string): Promise<string | undefined> {
    return take(this.#imageRefs, image);
  }

  takeFiles(containerName: string): Promise<PreparedContainerFiles | undefined> {
    return take(this.#files, containerName);
  }
}

async function take<T>(results: Map<string, Promise<T | undefined>>, key: string): Promise<T | undefined> {
  const result = results.get(key);
  results.delete(key);
  return result;
}
