import { byID, element, setText } from './dom.js';
import { nameOf } from './selection.js';
import { age, shortError, waitText } from './words.js';

/** @import { PodRow } from '../status-document.ts' */
/** @import { View } from './address.js' */

/**
 * @typedef {object} Column
 * @property {string} id a key of `sortKeys`
 * @property {string} label
 * @property {(pod: PodRow, nowMs: number) => string} text
 */

/** @type {readonly Column[]} */
export const columns = [
  { id: 'pod', label: 'Pod', text: nameOf },
  // Shown on the page of several nodes.
  { id: 'node', label: 'Node', text: ({ nodeName = '' }) => nodeName },
  { id: 'status', label: 'Status', text: ({ status = '' }) => status },
  { id: 'ready', label: 'Ready', text: readyText },
  { id: 'restarts', label: 'Restarts', text: ({ restarts = '' }) => String(restarts) },
  { id: 'version', label: 'Version', text: ({ version = '' }) => String(version) },
  { id: 'sent', label: 'Sent', text: ({ version, sentVersion }) => String(sentVersion ?? (version && 'none') ?? '') },
  { id: 'unsent', label: 'Unsent for', text: ({ unsentSince }, nowMs) => (unsentSince ? age(unsentSince, nowMs) : '') },
  { id: 'wait', label: 'Waits for', text: waitText },
  { id: 'error', label: 'Last error', text: ({ lastError = '' }) => shortError(lastError) },
];

/**
 * As in `kubectl get pods`; a pod whose containers are all ready can still wait for a readiness gate.
 *
 * @param {PodRow} pod
 */
function readyText({ ready, readyContainers, containers }) {
  if (containers === undefined) return '';
  const isGated = containers > 0 && readyContainers === containers && ready !== 'True';
  return `${readyContainers}/${containers}${isGated ? `, Ready ${ready ?? 'unset'}` : ''}`;
}

/**
 * @param {PodRow} pod
 * @returns {'good' | 'changing' | 'bad'}
 */
function healthOf({ phase, status = '' }) {
  if (phase === 'Failed' || phase === 'Unknown' || /BackOff|Err|Invalid|Killed|ExitCode|Signal/.test(status))
    return 'bad';
  return ['Running', 'Completed', 'Succeeded'].includes(status) ? 'good' : 'changing';
}

/** The table of one page of pods. Rows move with their pods, so that the focus stays on a pod when the order changes. */
export class Table {
  #body = byID('pods', HTMLTableElement).tBodies[0] ?? element('tbody');
  /** @type {Map<string, Row>} */
  #rows = new Map();
  /** @type {Map<string, HTMLElement>} */
  #headers = new Map();
  /** @param {(column: string) => void} onSort */
  constructor(onSort) {
    const heading = byID('pods', HTMLTableElement).tHead?.rows[0];
    for (const { id, label } of columns) {
      const button = element('button', { type: 'button' }, [label]);
      button.addEventListener('click', () => onSort(id));
      const header = element('th', { scope: 'col', role: 'columnheader', class: id }, [button]);
      this.#headers.set(id, header);
      heading?.append(header);
    }
    this.#body.addEventListener('keydown', (event) => this.#onKey(event));
  }

  /**
   * @param {readonly PodRow[]} pods
   * @param {View} view
   * @param {number} nowMs
   */
  show(pods, { sort, isDescending }, nowMs) {
    for (const [id, header] of this.#headers) {
      if (id === sort) header.setAttribute('aria-sort', isDescending ? 'descending' : 'ascending');
      else header.removeAttribute('aria-sort');
    }
    const focused = document.activeElement;
    const focusedIndex = this.#links().findIndex((link) => link === focused);
    /** @type {Map<string, Row>} */
    const rows = new Map();
    for (const [i, pod] of pods.entries()) {
      const row = this.#rows.get(pod.podUID) ?? new Row(pod);
      row.show(pod, nowMs);
      rows.set(pod.podUID, row);
      if (this.#body.rows[i] !== row.element) this.#body.insertBefore(row.element, this.#body.rows[i] ?? null);
    }
    while (this.#body.rows.length > pods.length) this.#body.deleteRow(-1);
    this.#rows = rows;
    if (focusedIndex >= 0 && document.activeElement !== focused) this.#focusAgain(focused, focusedIndex);
  }

  /**
   * Restores the focus, which an element loses when it is moved. If the pod is gone, its neighbour gets the focus.
   *
   * @param {Element | null} focused
   * @param {number} index
   */
  #focusAgain(focused, index) {
    const links = this.#links();
    const target = links.find((link) => link === focused) ?? links[Math.min(index, links.length - 1)];
    target?.focus({ preventScroll: true });
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const links = this.#links();
    const index = links.findIndex((link) => link === document.activeElement);
    const target = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: links.length - 1 }[event.key];
    if (target === undefined || links[target] === undefined) return;
    event.preventDefault();
    links[target].focus();
  }

  /** @returns {HTMLAnchorElement[]} */
  #links() {
    return [...this.#body.querySelectorAll('a')];
  }
}

/** The row of one pod. */
class Row {
  element;
  /** @type {readonly HTMLElement[]} */
  #texts;

  /** @param {PodRow} pod */
  constructor(pod) {
    const link = element('a', { href: `#${new URLSearchParams({ pod: pod.podUID })}`, 'data-pod': pod.podUID });
    const texts = columns.map(({ id }) => (id === 'pod' ? link : element('span')));
    const cells = columns.map(({ id, label }, i) =>
      element(id === 'pod' ? 'th' : 'td', cellAttributes(id, label), [texts[i]]),
    );
    this.#texts = texts;
    this.element = element('tr', { role: 'row' }, cells);
  }

  /**
   * @param {PodRow} pod
   * @param {number} nowMs
   */
  show(pod, nowMs) {
    for (const [i, { text }] of columns.entries()) {
      const target = this.#texts[i];
      if (target !== undefined) setText(target, text(pod, nowMs));
    }
    this.element.dataset['health'] = healthOf(pod);
    this.element.dataset['state'] = stateOf(pod);
    this.element.dataset['ended'] = String(pod.phase === 'Succeeded');
    this.element.dataset['ready'] = String(pod.ready);
  }
}

/**
 * @param {string} id
 * @param {string} label
 * @returns {Record<string, string>}
 */
function cellAttributes(id, label) {
  return id === 'pod'
    ? { scope: 'row', role: 'rowheader', class: id }
    : { role: 'cell', class: id, 'data-label': label };
}

/** @param {PodRow} pod */
function stateOf({ lastError, unsentSince }) {
  if (lastError !== undefined) return 'failing';
  return unsentSince === undefined ? 'sent' : 'unsent';
}
