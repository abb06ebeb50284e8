import { createHash } from 'node:crypto';
import isEqual from 'lodash/isEqual.js';
import isPlainObject from 'lodash/isPlainObject.js';
import { foreignAnnotations } from '../../node/index.ts';
import type { Container, EphemeralContainer, ValidPod } from '../../kube/objects/types.ts';
import { allContainersOf } from '../../kube/pods/pod-containers.ts';

/** Short enough for a label of a cloud. */
const hashLength = 32;

/** True if nothing has changed that `updatePod` passes on: labels, annotations, images and resources. */
export function isSamePod(a: ValidPod, b: ValidPod): boolean {
  return a === b || isEqual(passedOn(a), passedOn(b));
}

/** A hash of what `isSamePod` compares. It does not depend on the order of keys. */
export function podHash(pod: ValidPod): string {
  return createHash('sha256')
    .update(JSON.stringify(passedOn(pod), sortKeys))
    .digest('hex')
    .slice(0, hashLength);
}

function passedOn(pod: ValidPod): unknown {
  const { metadata, spec } = pod;
  const fields = allContainersOf<Container | EphemeralContainer>(spec).map(({ name, image, ...container }) => [
    name,
    image,
    'resources' in container ? container.resources : undefined,
  ]);
  return { labels: metadata.labels ?? {}, annotations: foreignAnnotations(pod), resources: spec?.resources, fields };
}

function sortKeys(_key: string, value: unknown): unknown {
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value as object).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
