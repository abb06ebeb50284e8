import { type KubeObject, podSpecOf } from '../../kube/objects/kube-object.ts';
import { canonicalIP, isIPv6 } from '../../kube/objects/ip-address.ts';
import type { Pod } from '../../kube/objects/types.ts';
import { validateQualifiedName } from '../../kube/validation/rules.ts';
import { ContainerConfigError } from '../runtime/container-runtime.ts';

/** Addresses, primary first. */
export interface KnownAddresses {
  readonly podIPs: readonly string[];
  readonly hostIPs: readonly string[];
}

/**
 * The value of a `fieldRef` in a container's environment.
 * Source: kubelet `podFieldSelectorRuntimeValue`. @throws ContainerConfigError
 */
export function podFieldSelectorRuntimeValue(
  { apiVersion = 'v1', fieldPath }: KubeObject<'ObjectFieldSelector'>,
  pod: Pod,
  { podIPs, hostIPs }: KnownAddresses,
): string {
  if (apiVersion !== 'v1') throw new ContainerConfigError(`unsupported pod version: ${apiVersion}`);
  const spec = podSpecOf(pod);
  switch (fieldPath) {
    case 'spec.nodeName':
    case 'spec.host':
      return spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return spec.serviceAccountName ?? '';
    case 'status.hostIP':
      return hostIPs[0] ?? '';
    case 'status.hostIPs':
      return hostIPs.join(',');
    case 'status.podIP':
      return sortPodIPs(podIPs, hostIPs[0])[0] ?? '';
    case 'status.podIPs':
      return sortPodIPs(podIPs, hostIPs[0]).join(',');
    default:
      if (!isFieldLabel(fieldPath)) throw new ContainerConfigError(`field label not supported: ${fieldPath}`);
      return fieldPathAsString(pod, fieldPath);
  }
}

function isFieldLabel(fieldPath: string): boolean {
  return /^metadata\.(?:(?:annotations|labels)(?:\['[^]*'\])?|name|namespace|uid)$/.test(fieldPath);
}

/** A field of a pod's metadata as text. Source: `fieldpath.ExtractFieldPathAsString`. @throws ContainerConfigError */
export function fieldPathAsString({ metadata = {} }: Pod, fieldPath: string): string {
  const subscriptAt = fieldPath.endsWith("']") ? fieldPath.indexOf("['", 1) : -1;
  const subscriptEnd = fieldPath.length - "']".length;
  if (subscriptAt !== -1 && subscriptAt + "['".length <= subscriptEnd) {
    const path = fieldPath.slice(0, subscriptAt);
    const subscript = fieldPath.slice(subscriptAt + "['".length, subscriptEnd);
    if (path !== 'metadata.annotations' && path !== 'metadata.labels')
      throw new ContainerConfigError(`fieldPath ${JSON.stringify(fieldPath)} does not support subscript`);
    const map = path === 'metadata.labels' ? metadata.labels : metadata.annotations;
    const name = path === 'metadata.labels' ? subscript : subscript.toLowerCase();
    const problems = validateQualifiedName(name, '').map(({ detail }) => detail.replace('Invalid value: ', ''));
    if (problems.length > 0)
      throw new ContainerConfigError(`invalid key subscript in ${fieldPath}: ${problems.join(';')}`);
    return map && Object.hasOwn(map, subscript) ? (map[subscript] ?? '') : '';
  }
  switch (fieldPath) {
    case 'metadata.annotations':
      return formatMap(metadata.annotations);
    case 'metadata.labels':
      return formatMap(metadata.labels);
    case 'metadata.name':
      return metadata.name ?? '';
    case 'metadata.namespace':
      return metadata.namespace ?? '';
    case 'metadata.uid':
      return metadata.uid ?? '';
    default:
      throw new ContainerConfigError(`unsupported fieldPath: ${fieldPath}`);
  }
}

/** The first address of the node's primary family, then the first of the other one. Source: kubelet `sortPodIPs`. */
function sortPodIPs(podIPs: readonly string[], hostIP = ''): string[] {
  const canonical = podIPs.map(canonicalIP).filter((ip) => ip !== undefined);
  const isPrimary = (ip: string): boolean => isIPv6(ip) === isIPv6(hostIP);
  return [canonical.find(isPrimary), canonical.find((ip) => !isPrimary(ip))].filter((ip) => ip !== undefined);
}

/** One line for each entry, sorted by key. Source: `fieldpath.FormatMap`. */
function formatMap(map: Readonly<Record<string, string>> = {}): string {
  const entries = Object.entries(map).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([key, value]) => `${key}=${quote(value)}`).join('\n');
}

const shortEscapes = new Map(
  ['"', '\\', '\u0007a', '\bb', '\ff', '\nn', '\rr', '\tt', '\vv'].map((pair) => [pair[0], pair.at(-1)]),
);

/** In double quotes. Source: Go `strconv.Quote`, which escapes what cannot be printed. */
function quote(text: string): string {
  return `"${text.replaceAll(/["\\]|(?! )[\p{C}\p{Z}]/gu, escapeOf)}"`;
}

function escapeOf(char: string): string {
  const short = shortEscapes.get(char);
  if (short !== undefined) return `\\${short}`;
  const code = char.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code < 0x80) return `\\x${hex.padStart(2, '0')}`;
  return code > 0xff_ff ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`;
}
