import { byID, element } from './dom.js';
import { nodesSummary, nodeState } from './words.js';

/** @import { NodeRow } from '../status-document.ts' */

/** More are only counted: nodes with a problem come first. */
const shownNodes = 100;
/** So many are shown without a click. */
const openNodes = 10;

/** @type {readonly { readonly id: string, readonly label: string, readonly text: (node: NodeRow) => string }[]} */
const columns = [
  { id: 'name', label: 'Node', text: ({ nodeName }) => nodeName },
  { id: 'state', label: 'State', text: nodeState },
  { id: 'owner', label: 'Owner', text: ({ owner = '' }) => owner },
  { id: 'count', label: 'Pods', text: ({ state, pods }) => (state === 'notOwned' ? '' : String(pods)) },
  { id: 'count', label: 'Failing', text: ({ failingPods }) => (failingPods === 0 ? '' : String(failingPods)) },
  { id: 'error', label: 'Problem', text: ({ problem = '' }) => problem },
];

/** The virtual nodes of a process; hidden on the page of a single node. */
export class Nodes {
  #details = byID('nodes', HTMLDetailsElement);
  #summary = byID('nodes-summary', HTMLElement);
  #body = byID('nodes-body', HTMLTableSectionElement);
  #others = byID('nodes-others', HTMLElement);
  #shown = '';

  /** @param {(nodeName: string) => void} onChoice shows the pods of a node */
  constructor(onChoice) {
    const headings = columns.map(({ id, label }) =>
      element('th', { scope: 'col', role: 'columnheader', class: id }, [label]),
    );
    byID('nodes-head', HTMLTableRowElement).append(...headings);
    this.#body.addEventListener('click', ({ target }) => {
      if (target instanceof HTMLButtonElement) onChoice(target.textContent ?? '');
    });
  }

  /** @param {readonly NodeRow[] | undefined} nodes */
  show(nodes) {
    this.#details.hidden = nodes === undefined;
    // Unchanged rows keep the focus.
    const shown = JSON.stringify(nodes);
    if (nodes === undefined || shown === this.#shown) return;
    if (this.#shown === '') this.#details.open = nodes.length <= openNodes;
    this.#shown = shown;
    this.#summary.replaceChildren(nodesSummary(nodes));
    this.#body.replaceChildren(...nodes.slice(0, shownNodes).map(rowOf));
    this.#others.replaceChildren(nodes.length > shownNodes ? `and ${nodes.length - shownNodes} others` : '');
  }
}

/** @param {NodeRow} node */
function rowOf(node) {
  const cells = columns.map(({ id, label, text }) =>
    id === 'name'
      ? element('th', { scope: 'row', role: 'rowheader' }, [element('button', { type: 'button' }, [text(node)])])
      : element('td', { role: 'cell', class: id, 'data-label': label }, [element('span', {}, [text(node)])]),
  );
  return element('tr', { role: 'row' }, cells);
}
