import type { Pod } from '../../kube/types.ts';
import { apiObjectReference } from '../../kube/api-object-reference.ts';
import type { ParseManifest } from './pod-source.ts';
import { applyDefaults, type ManifestOrigin } from './static-pod-defaults.ts';

const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const dnsSubdomain = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const restartPolicies: readonly unknown[] = ['Always', 'OnFailure', 'Never'];

/**
 * Decodes a manifest into the pod that runs on this node. Throws an error that names the invalid
 * member and quotes nothing of the manifest, which may contain secrets. Source: kubelet `tryDecodeSinglePod`.
 */
export function decodeSinglePod(text: string, parse: ParseManifest, origin: ManifestOrigin): Pod {
  return toPod(parsed(text, parse), origin);
}

/** Like `decodeSinglePod`, for a Pod or a PodList. Source: kubelet `tryDecodePodList`. */
export function decodePods(text: string, parse: ParseManifest, origin: ManifestOrigin): Pod[] {
  return toPods(parsed(text, parse), origin);
}

/** Like `decodePods`, for a manifest that has been parsed. */
export function toPods(manifest: unknown, origin: ManifestOrigin): Pod[] {
  requireObject(manifest);
  const { kind, items } = manifest as { kind?: unknown; items?: unknown };
  if (kind !== 'PodList') return [toPod(manifest, origin)];
  if (!Array.isArray(items)) throw new Error('Expected `items` to be a list');
  // As in the API, the items of a list need no `kind` and `apiVersion`.
  return items.map((item: unknown) => toPod({ apiVersion: 'v1', kind: 'Pod', ...(item as object) }, origin));
}

function parsed(text: string, parse: ParseManifest): object {
  let value: unknown;
  try {
    value = parse(text);
  } catch {
    // The parser's message quotes the manifest, so it is not passed on.
    throw new Error('The manifest cannot be parsed; for YAML, pass `parse` of the package yaml as option `parse`');
  }
  requireObject(value);
  return value;
}

function requireObject(manifest: unknown): asserts manifest is object {
  if (typeof manifest !== 'object' || manifest === null || Array.isArray(manifest))
    throw new Error('Expected the manifest to be an object');
}

function toPod(manifest: object, origin: ManifestOrigin): Pod {
  const { apiVersion, kind, metadata } = manifest as Record<string, unknown>;
  if (apiVersion !== 'v1') refuse('apiVersion', 'v1');
  if (kind !== 'Pod') refuse('kind', 'Pod');
  const { name } = (metadata ?? {}) as { name?: unknown };
  if (typeof name !== 'string' || name === '') refuse('metadata.name', 'a name');
  requireSpec((manifest as { spec?: unknown }).spec);
  const pod = applyDefaults(manifest, origin);
  if (!dnsSubdomain.test(pod.metadata?.name ?? ''))
    refuse('metadata.name', 'a DNS subdomain with the node name appended');
  if (!dnsLabel.test(pod.metadata?.namespace ?? '')) refuse('metadata.namespace', 'a DNS label');
  const reference = apiObjectReference(pod);
  if (reference !== undefined) throw new Error(`Static pods may not reference ${reference}`);
  return pod;
}

/** Checks only what the agent relies on; the API server validates the rest when the mirror pod is created. */
function requireSpec(spec: unknown): void {
  if (typeof spec !== 'object' || spec === null) refuse('spec', 'an object');
  const { containers, initContainers, volumes, restartPolicy, terminationGracePeriodSeconds } = spec as Record<
    string,
    unknown
  >;
  if (!Array.isArray(containers) || containers.length === 0)
    refuse('spec.containers', 'a list of at least one container');
  requireNames('spec.volumes', volumes);
  const names = requireNames('spec.containers', containers);
  for (const name of requireNames('spec.initContainers', initContainers))
    if (names.has(name)) refuse('spec.initContainers', 'different in name from spec.containers');
  if (restartPolicy !== undefined && !restartPolicies.includes(restartPolicy))
    refuse('spec.restartPolicy', restartPolicies.join(', '));
  if (terminationGracePeriodSeconds !== undefined && !Number.isInteger(terminationGracePeriodSeconds))
    refuse('spec.terminationGracePeriodSeconds', 'an integer');
}

function requireNames(path: string, list: unknown): Set<string> {
  const names = new Set<string>();
  if (list == null) return names;
  if (!Array.isArray(list)) refuse(path, 'a list');
  for (const [index, item] of (list as unknown[]).entries()) {
    const { name } = (item ?? {}) as { name?: unknown };
    if (typeof name !== 'string' || !dnsLabel.test(name)) return refuse(`${path}[${index}].name`, 'a DNS label');
    if (names.has(name)) refuse(`${path}[${index}].name`, 'unique');
    names.add(name);
  }
  return names;
}

function refuse(path: string, expected: string): never {
  throw new Error(`Expected \`${path}\` to be ${expected}`);
}
