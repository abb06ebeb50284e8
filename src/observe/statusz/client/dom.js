/** @typedef {Node | string | undefined} Child */

/**
 * Data is only inserted as text: nothing in this folder parses HTML.
 *
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Readonly<Record<string, string>>} [attributes]
 * @param {readonly Child[]} [children]
 */
export function element(name, attributes = {}, children = []) {
  const created = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) created.setAttribute(attribute, value);
  created.append(...children.filter((child) => child !== undefined));
  return created;
}

/**
 * Changes the text only if it differs, so that a selection and a screen reader are not disturbed.
 *
 * @param {Element} target
 * @param {string} text
 */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/**
 * The element of page.html with this ID.
 *
 * @template {Element} Kind
 * @param {string} id
 * @param {new () => Kind} kind
 */
export function byID(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`page.html has no ${kind.name} #${id}`);
  return found;
}
