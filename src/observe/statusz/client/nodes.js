import { byID, element } from './dom.js';
import { nodeText, nodesSummary } from './words.js';

/** @import { NodeRow } from '../status-document.ts' */

/** More are only counted: nodes with a problem come first. */
const shownNodes = 100;

/** The virtual nodes of a process; hidden on the page of a single node. */
export class Nodes {
  #details = byID('nodes', HTMLDetailsElement);
  #summary = element('summary');
  #list = element('ul');
  #shown = '';
  /** @param {(nodeName: string) => void} onChoice shows the pods of a node */
  constructor(onChoice) {
    this.#details.append(this.#summary, this.#list);
    this.#list.addEventListener('click', ({ target }) => {
      if (target instanceof HTMLButtonElement) onChoice(target.textContent ?? '');
    });
  }

  /** @param {readonly NodeRow[] | undefined} nodes */
  show(nodes) {
    this.#details.hidden = nodes === undefined;
    // Unchanged rows keep the focus.
    const shown = JSON.stringify(nodes);
    if (nodes === undefined || shown === this.#shown) return;
    this.#shown = shown;
    this.#summary.replaceChildren(nodesSummary(nodes));
    const items = nodes.slice(0, shownNodes).map((node) => {
      const button = element('button', { type: 'button' }, [node.nodeName]);
      return element('li', node.problem === undefined ? {} : { class: 'failure' }, [button, ` ${nodeText(node)}`]);
    });
    if (nodes.length > shownNodes) items.push(element('li', {}, [`and ${nodes.length - shownNodes} others`]));
    this.#list.replaceChildren(...items);
  }
}
