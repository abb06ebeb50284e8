import { groups, sortKeys } from './selection.js';

/** @import { Choice } from './selection.js' */

/**
 * The view in the fragment of the page's address, so that a link shows the same view.
 *
 * @typedef {Choice & { pod: string }} View `pod`: UID of the pod whose details are open, or empty
 */

/** @type {Readonly<View>} */
const defaultView = { show: 'all', filter: '', sort: 'unsent', isDescending: true, page: 0, pod: '' };

/**
 * @param {string} fragment
 * @returns {View}
 */
export function viewOf(fragment) {
  const given = new URLSearchParams(fragment.replace(/^#/, ''));
  const show = given.get('show') ?? '';
  const order = given.get('sort') ?? '';
  const sort = order.replace(/^-/, '');
  return {
    ...defaultView,
    ...(groups.some(({ id }) => id === show) && { show }),
    filter: given.get('filter') ?? '',
    ...(Object.hasOwn(sortKeys, sort) && { sort, isDescending: order.startsWith('-') }),
    pod: given.get('pod') ?? '',
  };
}

/** @param {View} view */
export function fragmentOf({ show, filter, sort, isDescending, pod }) {
  const given = new URLSearchParams();
  if (show !== defaultView.show) given.set('show', show);
  if (filter !== '') given.set('filter', filter);
  if (sort !== defaultView.sort || isDescending !== defaultView.isDescending)
    given.set('sort', `${isDescending ? '-' : ''}${sort}`);
  if (pod !== '') given.set('pod', pod);
  return `#${given}`;
}
