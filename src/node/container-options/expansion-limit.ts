import { ContainerConfigError } from '../runtime/container-runtime.ts';

/** Linux passes at most 6 MiB of arguments and environment to a process. */
const maxCharacters = 8 * 1024 * 1024;

/**
 * Counts the environment or the arguments of a container, which can be much larger than its spec: `$(NAME)` can double a
 * value many times, and `envFrom` can repeat a ConfigMap.
 *
 * Divergence: more than a process can get is refused while it is expanded; the kubelet has no limit.
 */
export class ExpansionLimit {
  #characters = 0;

  /** @returns the text. @throws ContainerConfigError if it is too much together with what was counted before */
  count(text: string): string {
    this.#characters += text.length;
    if (this.#characters > maxCharacters)
      throw new ContainerConfigError(
        `environment or arguments have more than ${maxCharacters} characters, which no process can get`,
      );
    return text;
  }
}
