import type { ValidPod, Pod } from '../../kube/objects/types.ts';
import { apiObjectReference } from '../../kube/objects/api-object-reference.ts';
import { type JSONObject, objectOf, stringOf } from '../../kube/objects/json-object.ts';
import { decodeKubeType } from '../../kube/objects/kube-decoder.ts';
import { withPodSpecDefaults } from '../../kube/pods/pod-defaults.ts';
import { validateMetadata } from '../../kube/validation/metadata.ts';
import { validatePodCreate, validatePodSpec } from '../../kube/validation/pod-spec.ts';
import { validateDomainLabel } from '../../kube/validation/rules.ts';
import type { ParseManifest, PodSourceContext } from './pod-source.ts';
import { createHash } from 'node:crypto';
import { configHashAnnotation } from '../../kube/pods/static-pods.ts';
import { withAnnotations } from './check-and-update-pod.ts';

/**
 * Decodes a manifest into the pod that runs on this node: with the API server's defaults, and validated like a new
 * pod there. Throws an error that names the invalid fields and quotes no values, which may be secrets.
 * Source: kubelet `tryDecodeSinglePod`.
 */
export function decodeSinglePod(text: string, parse: ParseManifest, origin: ManifestOrigin): ValidPod {
  return toPod(parsed(text, parse), origin);
}

/** Like `decodeSinglePod`, for a Pod or a PodList. Source: kubelet `tryDecodePodList`. */
export function decodePods(text: string, parse: ParseManifest, origin: ManifestOrigin): ValidPod[] {
  return toPods(parsed(text, parse), origin);
}

/** Like `decodePods`, for a parsed manifest. */
function toPods(manifest: unknown, origin: ManifestOrigin): ValidPod[] {
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

function toPod(manifest: object, origin: ManifestOrigin): ValidPod {
  const { apiVersion, kind } = manifest as JSONObject;
  if (apiVersion !== 'v1') refuse('apiVersion', 'v1');
  if (kind !== 'Pod') refuse('kind', 'Pod');
  const { value } = decodeKubeType('Pod', manifest);
  if (stringOf(objectOf(value, 'metadata'), 'name') === '') refuse('metadata.name', 'a name');
  const decoded = { ...value, apiVersion, kind, spec: withPodSpecDefaults(objectOf(value, 'spec')) };
  const pod = applyDefaults(decoded, origin);
  requireValid(pod);
  const reference = apiObjectReference(decoded.spec);
  if (reference !== undefined) throw new Error(`Static pods may not reference ${reference}`);
  return pod;
}

/** Source: `ValidatePodCreate`. */
function requireValid({ metadata, spec }: ValidPod): void {
  const fields = spec as unknown as JSONObject;
  const errors = [
    ...validateMetadata(metadata),
    ...validateDomainLabel(metadata.namespace, 'metadata.namespace'),
    ...validatePodSpec(fields),
    ...validatePodCreate(fields),
  ];
  if (errors.length > 0) throw new Error(errors.map(({ field, detail }) => `${field}: ${detail}`).join('; '));
}

function refuse(path: string, expected: string): never {
  throw new Error(`Expected \`${path}\` to be ${expected}`);
}

export function podSourceContext(context: Omit<PodSourceContext, 'staticPods'>): PodSourceContext {
  const { nodeName } = context;
  return {
    ...context,
    staticPods: (manifest, origin) => toPods(manifest, { source: origin, isFile: false, nodeName }),
  };
}

/** Where a manifest was read from. */
interface ManifestOrigin {
  /** The path or the URL. */
  readonly source: string;
  readonly isFile: boolean;
  readonly nodeName: string;
}

const toleratesAllNoExecute = { operator: 'Exists', effect: 'NoExecute' };

/**
 * A decoded manifest, with the API server's defaults, as the pod on this node: its name ends with the node's name,
 * its UID changes with the manifest unless the manifest has one, and it has the annotation
 * `kubernetes.io/config.hash`. Source: kubelet `applyDefaults`.
 *
 * Divergence: the UID is a different hash than the kubelet's, which hashes Go's debug output.
 */
export function applyDefaults(manifest: Pod, { source, isFile, nodeName }: ManifestOrigin): ValidPod {
  const { metadata = {}, spec } = manifest;
  const origin = isFile ? `host:${nodeName}file:${source}` : `url:${source}`;
  const uid =
    metadata.uid || createHash('sha256').update(canonicalText(manifest)).update(origin).digest('hex').slice(0, 32);
  const pod = {
    ...manifest,
    metadata: {
      ...metadata,
      uid,
      name: `${metadata.name}-${nodeName.toLowerCase()}`,
      namespace: metadata.namespace || 'default',
    },
    spec: {
      ...spec,
      nodeName,
      ...(isFile && { tolerations: withToleration(spec?.tolerations) }),
    },
    status: { ...manifest.status, phase: 'Pending' },
  } as ValidPod;
  return withAnnotations(pod, { [configHashAnnotation]: uid });
}

/** Replaces the same toleration with other seconds in its place, else appends. Source: kubelet `AddOrUpdateTolerationInPod`. */
function withToleration(tolerations: readonly object[] = []): object[] {
  const isSame = (toleration: object): boolean => {
    const { key = '', operator, effect, value = '' } = toleration as Record<string, unknown>;
    return key === '' && value === '' && operator === 'Exists' && effect === 'NoExecute';
  };
  if (!tolerations.some(isSame)) return [...tolerations, toleratesAllNoExecute];
  return tolerations.map((toleration) => (isSame(toleration) ? toleratesAllNoExecute : toleration));
}

/** A text that does not depend on the order of the manifest's fields. */
function canonicalText(manifest: Pod): string {
  return JSON.stringify(manifest, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
