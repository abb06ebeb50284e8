import { byID, element, setText } from './dom.js';
import { PolledDocument } from './polled.js';
import { nameOf } from './selection.js';
import { columns } from './table.js';
import { age, clockTime, entryText } from './words.js';

/** @import { PodDocument } from '../pod-document.ts' */
/** @import { PodRow } from '../status-document.ts' */

/** The dialog with everything about one pod. */
export class Detail {
  #dialog = byID('detail', HTMLDialogElement);
  #body = byID('detail-body', HTMLElement);
  #name = byID('detail-name', HTMLElement);
  #podUID = '';
  /** @type {PolledDocument<PodDocument> | undefined} */
  #document;

  /** @param {() => void} onClose */
  constructor(onClose) {
    byID('close', HTMLButtonElement).addEventListener('click', () => this.#dialog.close());
    this.#dialog.addEventListener('close', onClose);
    this.#dialog.addEventListener('click', (event) => {
      if (event.target === this.#dialog) this.#dialog.close();
    });
  }

  /** @param {string} podUID empty: none */
  open(podUID) {
    if (podUID === this.#podUID) return;
    this.#podUID = podUID;
    this.#body.replaceChildren();
    setText(this.#name, '');
    if (podUID === '') {
      this.#document = undefined;
      this.#dialog.close();
      return;
    }
    this.#document = new PolledDocument(`pods/${encodeURIComponent(podUID)}.json`);
    if (!this.#dialog.open) this.#dialog.showModal();
  }

  /** @param {AbortSignal} signal */
  async poll(signal) {
    await this.#document?.poll(signal);
  }

  /**
   * The rows of the table, with that of the open pod as its document has it, so that both show the same.
   *
   * @param {readonly PodRow[]} pods
   */
  update(pods) {
    const { pod } = this.#document?.value ?? {};
    return pod === undefined ? pods : pods.map((other) => (other.podUID === pod.podUID ? pod : other));
  }

  /**
   * @param {readonly PodRow[]} pods
   * @param {number} nowMs
   */
  show(pods, nowMs) {
    if (this.#podUID === '') return;
    const document = this.#document?.value;
    const pod = document?.pod ?? pods.find(({ podUID }) => podUID === this.#podUID);
    setText(this.#name, pod === undefined ? this.#podUID : nameOf(pod));
    const sections = [
      element('p', { class: 'explanation' }, [document?.explanation.sentence ?? '']),
      facts(this.#podUID, pod, nowMs),
      conditions(document, nowMs),
      timeline(document, nowMs),
    ];
    showSections(this.#body, sections);
  }
}

/**
 * Replaces only sections that differ, so that a text selection is kept.
 *
 * @param {HTMLElement} parent
 * @param {readonly HTMLElement[]} sections
 */
function showSections(parent, sections) {
  for (const [i, section] of sections.entries()) {
    const shown = parent.children[i];
    if (shown === undefined) parent.append(section);
    else if (!shown.isEqualNode(section)) shown.replaceWith(section);
  }
}

/**
 * @param {string} podUID
 * @param {PodRow | undefined} pod
 * @param {number} nowMs
 */
function facts(podUID, pod, nowMs) {
  const rows = columns
    .filter(({ id }) => id !== 'pod')
    .map(({ label, text }) => /** @type {const} */ ([label, pod === undefined ? '' : text(pod, nowMs)]))
    .filter(([, text]) => text !== '');
  return element(
    'dl',
    {},
    [/** @type {const} */ (['UID', podUID]), ...rows].map(([label, text]) =>
      element('div', {}, [element('dt', {}, [label]), element('dd', {}, [text])]),
    ),
  );
}

/**
 * @param {PodDocument | undefined} document
 * @param {number} nowMs
 */
function conditions(document, nowMs) {
  const items = (document?.conditions ?? []).map(({ type, status, reason, message, lastTransitionTime }) =>
    element('li', { class: 'condition' }, [
      element('strong', {}, [`${type} ${status}`]),
      lastTransitionTime === null ? undefined : time(lastTransitionTime, age(lastTransitionTime, nowMs, 'for ')),
      note([reason, message].filter(Boolean).join(': ')),
    ]),
  );
  return section('Conditions', 'ul', items, 'None.');
}

/**
 * @param {PodDocument | undefined} document
 * @param {number} nowMs
 */
function timeline(document, nowMs) {
  const items = (document?.timeline ?? []).map((entry) => {
    const { text, detail, isFailure } = entryText(entry, nowMs);
    return element('li', isFailure ? { class: 'failure' } : {}, [
      time(entry.at, clockTime(entry.at, nowMs)),
      element('span', {}, [text]),
      note(detail),
    ]);
  });
  return section('Timeline (UTC, newest first)', 'ol', items, 'Nothing has happened since the page was created.');
}

/**
 * @param {string} heading
 * @param {'ul' | 'ol'} list
 * @param {readonly HTMLElement[]} items
 * @param {string} empty
 */
function section(heading, list, items, empty) {
  const content = items.length === 0 ? element('p', {}, [empty]) : element(list, {}, items);
  return element('section', {}, [element('h3', {}, [heading]), content]);
}

/**
 * @param {string} iso
 * @param {string} text
 */
function time(iso, text) {
  return element('time', { datetime: iso, title: iso }, [text]);
}

/** @param {string} text */
function note(text) {
  return text === '' ? undefined : element('p', {}, [text]);
}
