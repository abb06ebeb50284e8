/** @import { PodRow } from '../status-document.ts' */

/** @typedef {(pod: PodRow) => string | number} SortKey */

export const pageSize = 100;

/**
 * Which pods can be shown, and the label of each choice.
 *
 * @type {readonly { readonly id: string, readonly label: string, readonly has: (pod: PodRow) => boolean }[]}
 */
export const groups = [
  { id: 'all', label: 'All', has: () => true },
  { id: 'not-ready', label: 'Not ready', has: ({ phase, ready }) => !hasEnded(phase) && ready !== 'True' },
  { id: 'unsent', label: 'Unsent', has: ({ unsentSince }) => unsentSince !== undefined },
  { id: 'failing', label: 'Failing', has: ({ lastError }) => lastError !== undefined },
  {
    id: 'terminating',
    label: 'Terminating',
    has: ({ waitingFor }) =>
      waitingFor !== undefined &&
      ['containers', 'sandbox', 'finalizers', 'pod-deletion-safety'].includes(waitingFor.kind),
  },
];

/** @param {string | undefined} phase */
function hasEnded(phase) {
  return phase === 'Succeeded' || phase === 'Failed';
}

/**
 * The values that pods are sorted by. Empty values come last in both directions.
 *
 * @type {Readonly<Record<string, SortKey>>}
 */
export const sortKeys = {
  pod: nameOf,
  node: ({ nodeName = '' }) => nodeName,
  status: ({ status = '' }) => status,
  ready: ({ ready = '', readyContainers = 0 }) => `${ready} ${readyContainers}`,
  restarts: ({ restarts = '' }) => restarts,
  version: ({ version = '' }) => version,
  sent: ({ sentVersion = '' }) => sentVersion,
  // Ascending is the youngest first, as the column shows an age.
  unsent: ({ unsentSince }) => (unsentSince === undefined ? '' : -Date.parse(unsentSince)),
  wait: ({ waitingFor }) => waitingFor?.kind ?? '',
  error: ({ lastError = '' }) => lastError,
};

/** @param {PodRow} pod */
export function nameOf({ podNamespace, podName }) {
  return `${podNamespace}/${podName}`;
}

/**
 * @typedef {object} Choice
 * @property {string} show ID of a group
 * @property {string} filter words that all must occur in a row
 * @property {string} sort a key of `sortKeys`
 * @property {boolean} isDescending
 * @property {number} page from 0
 */

/**
 * The rows of one page of the table, and how many there are on all pages.
 *
 * @param {readonly PodRow[]} pods
 * @param {Choice} choice
 */
export function select(pods, { show, filter, sort, isDescending, page }) {
  const has = groups.find(({ id }) => id === show)?.has ?? (() => true);
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = pods.filter((pod) => has(pod) && words.every((word) => textOf(pod).includes(word)));
  const sorted = sortPods(matching, sortKeys[sort] ?? nameOf, isDescending);
  const pages = Math.max(1, Math.ceil(sorted.length / pageSize));
  const shownPage = Math.min(page, pages - 1);
  const start = shownPage * pageSize;
  return { rows: sorted.slice(start, start + pageSize), start, matching: sorted.length, page: shownPage, pages };
}

/** @param {PodRow} pod */
function textOf(pod) {
  const { podUID, nodeName = '', phase = '', reason = '', status = '', waitingFor, lastError = '' } = pod;
  const text = `${nameOf(pod)} ${podUID} ${phase} ${reason} ${status} ${waitingFor?.kind ?? ''} ${lastError}`;
  // The semicolon keeps `cloud-1` from matching `cloud-10`.
  return `${text} node:${nodeName};`.toLowerCase();
}

/**
 * Of pods with the same key, those with an error come first.
 *
 * @param {readonly PodRow[]} pods
 * @param {SortKey} keyOf
 * @param {boolean} isDescending
 */
function sortPods(pods, keyOf, isDescending) {
  const keyed = pods.map((pod) => ({
    ...{ pod, key: keyOf(pod), name: nameOf(pod) },
    rank: pod.lastError === undefined ? 1 : 0,
  }));
  const sign = isDescending ? -1 : 1;
  keyed.sort((a, b) => {
    if ((a.key === '') !== (b.key === '')) return a.key === '' ? 1 : -1;
    return sign * compare(a.key, b.key) || a.rank - b.rank || compare(a.name, b.name);
  });
  return keyed.map(({ pod }) => pod);
}

/**
 * @param {string | number} a
 * @param {string | number} b
 */
function compare(a, b) {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
