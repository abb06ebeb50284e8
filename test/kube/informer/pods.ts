import type { PodListener } from '../../../src/kube/informer/index.ts';
import type { Logger } from '../../../src/shared/logger.ts';
import type { Pod } from '../../../src/kube/objects/types.ts';

export function pod(
  name: string,
  resourceVersion: string,
  uid = `uid-${name}`,
  annotations: Record<string, string> = {},
): Pod {
  // Only the API server's pods have a resourceVersion.
  const version = annotations === fromFile ? { generation: Number(resourceVersion) } : { resourceVersion };
  return { metadata: { name, namespace: 'ns', uid, ...version, annotations } };
}

const versionOf = ({ metadata }: Pod): string => metadata?.resourceVersion ?? String(metadata?.generation);

export const mirror = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.mirror': 'hash' };
export const fromFile = { 'kubernetes.io/config.source': 'file' };

/** Writes down what it is told: `+name@version`, `~name@old>new`, `-name@version`. */
export function recorder(): PodListener & { readonly heard: string[] } {
  const heard: string[] = [];
  const describe = ({ metadata }: Pod): string => `${metadata?.uid}@${versionOf({ metadata })}`;
  return {
    heard,
    onPodAdded: (pod) => void heard.push(`+${describe(pod)}`),
    onPodUpdated: (pod, previous) => void heard.push(`~${describe(previous)}>${versionOf(pod)}`),
    onPodRemoved: (pod) => void heard.push(`-${describe(pod)}`),
  };
}

export function recordingLogger(): Logger & {
  /** At info, warn and error. */
  readonly messages: string[];
  readonly fields: object[];
  /** The rounds of the reflector that failed. */
  readonly failedRounds: object[];
} {
  const messages: string[] = [];
  const fields: object[] = [];
  const failedRounds: object[] = [];
  const log = (logged: object, message: string): void => {
    fields.push(logged);
    messages.push(message);
  };
  const nothing = (): void => {};
  return {
    messages,
    fields,
    failedRounds,
    trace: nothing,
    debug: (fields, message) => void (message?.startsWith('Listing or watching') && failedRounds.push(fields)),
    info: log,
    warn: log,
    error: log,
  };
}
