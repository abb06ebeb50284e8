import type { PodListener } from '../../../src/kube/informer/index.ts';
import type { Logger } from '../../../src/shared/logger.ts';
import type { Pod } from '../../../src/kube/types.ts';

export function pod(
  name: string,
  resourceVersion: string,
  uid = `uid-${name}`,
  annotations: Record<string, string> = {},
): Pod {
  return { metadata: { name, namespace: 'ns', uid, resourceVersion, annotations } };
}

export const mirror = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.mirror': 'hash' };
export const fromFile = { 'kubernetes.io/config.source': 'file' };

/** Writes down what it is told: `+name@version`, `~name@old>new`, `-name@version`. */
export function recorder(): PodListener & { readonly heard: string[] } {
  const heard: string[] = [];
  const describe = ({ metadata }: Pod): string => `${metadata?.uid}@${metadata?.resourceVersion}`;
  return {
    heard,
    onPodAdded: (pod) => void heard.push(`+${describe(pod)}`),
    onPodUpdated: (pod, previous) => void heard.push(`~${describe(previous)}>${pod.metadata?.resourceVersion}`),
    onPodRemoved: (pod) => void heard.push(`-${describe(pod)}`),
  };
}

export function recordingLogger(): Logger & {
  /** At warn and error. */
  readonly messages: string[];
  readonly fields: object[];
  readonly infos: object[];
} {
  const messages: string[] = [];
  const fields: object[] = [];
  const infos: object[] = [];
  const log = (members: object, message: string): void => {
    fields.push(members);
    messages.push(message);
  };
  const nothing = (): void => {};
  return {
    messages,
    fields,
    infos,
    trace: nothing,
    debug: nothing,
    info: (members) => void infos.push(members),
    warn: log,
    error: log,
  };
}
