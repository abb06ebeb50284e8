import { fragmentOf, viewOf } from './address.js';
import { Detail } from './detail.js';
import { byID, element, setText } from './dom.js';
import { Nodes } from './nodes.js';
import { PolledDocument } from './polled.js';
import { groups, select } from './selection.js';
import { columns, Table } from './table.js';
import { age, clockTime, problemsOf } from './words.js';

/** @import { StatusDocument } from '../status-document.ts' */

/** Used until the server's response has the refresh interval. */
const firstIntervalMs = 1_000;
const longestRetryMs = 15_000;
/** A request that takes longer is aborted. */
const requestTimeoutMs = 10_000;

const page = {
  node: byID('node', HTMLElement),
  manager: byID('manager', HTMLElement),
  problems: byID('problems', HTMLElement),
  show: byID('show', HTMLElement),
  filter: byID('filter', HTMLInputElement),
  sort: byID('sort', HTMLSelectElement),
  pause: byID('pause', HTMLButtonElement),
  count: byID('count', HTMLElement),
  previous: byID('previous', HTMLButtonElement),
  next: byID('next', HTMLButtonElement),
};

/** @type {PolledDocument<StatusDocument>} */
const pods = new PolledDocument('pods.json');
let view = viewOf(location.hash);
/** The server's time of its last response; ages do not change without a response. */
let nowMs = Date.now();
let failures = 0;
/** Why the last update failed. */
let failure = '';
let isPaused = false;
let polling = new AbortController();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

const detail = new Detail(() => change({ pod: '' }));
const nodes = new Nodes((nodeName) => change({ filter: `node:${nodeName};`, show: 'all', page: 0 }));
const table = new Table((column) => {
  const isDescending = view.sort === column ? !view.isDescending : column === 'unsent';
  change({ sort: column, isDescending, page: 0 });
});

const choices = groups.map(({ id, label, has }) => {
  const input = element('input', { type: 'radio', name: 'show', value: id });
  const number = element('span', { class: 'number' });
  input.addEventListener('change', () => change({ show: id, page: 0 }));
  page.show.append(element('label', {}, [input, element('span', {}, [label]), number]));
  return { id, has, input, number };
});
for (const { id, label } of columns) {
  page.sort.append(element('option', { value: id, class: id }, [label]));
  page.sort.append(element('option', { value: `-${id}`, class: id }, [`${label}, descending`]));
}

page.filter.addEventListener('input', () => change({ filter: page.filter.value, page: 0 }));
page.sort.addEventListener('change', () => {
  const { value } = page.sort;
  change({ sort: value.replace(/^-/, ''), isDescending: value.startsWith('-'), page: 0 });
});
page.previous.addEventListener('click', () => change({ page: view.page - 1 }));
page.next.addEventListener('click', () => change({ page: view.page + 1 }));
page.pause.addEventListener('click', () => {
  isPaused = !isPaused;
  page.pause.setAttribute('aria-pressed', String(isPaused));
  continueOrStop();
});
byID('controls', HTMLFormElement).addEventListener('submit', (event) => event.preventDefault());
byID('pods', HTMLTableElement).addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  view = { ...view, pod: link.dataset['pod'] ?? '' };
  // A history entry, so that the Back button closes the details.
  history.pushState(null, '', fragmentOf(view));
  void update();
});
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target instanceof HTMLInputElement || view.pod !== '') return;
  event.preventDefault();
  page.filter.focus();
});
window.addEventListener('popstate', () => {
  view = { ...viewOf(location.hash), page: view.page };
  void update();
});
document.addEventListener('visibilitychange', continueOrStop);
void update();

/** @param {Partial<typeof view>} changed */
function change(changed) {
  view = { ...view, ...changed };
  history.replaceState(null, '', fragmentOf(view));
  render();
}

/** Whether to poll: not while updates are paused or the page is hidden. */
function mayContinue() {
  return !isPaused && document.visibilityState === 'visible';
}

function continueOrStop() {
  if (mayContinue()) void update();
  else stop();
}

function stop() {
  polling.abort();
  clearTimeout(timer);
}

/** Polls the server now, renders the response, and schedules the next poll. */
async function update() {
  stop();
  polling = new AbortController();
  const { signal } = polling;
  render();
  try {
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(requestTimeoutMs)]);
    const [serverMs] = await Promise.all([pods.poll(inTime), detail.poll(inTime)]);
    nowMs = serverMs;
    failures = 0;
  } catch (error) {
    if (signal.aborted) return;
    failures++;
    failure = error instanceof Error ? error.message : String(error);
  }
  render();
  if (!mayContinue()) return;
  const intervalMs = pods.value?.refreshIntervalMs ?? firstIntervalMs;
  const delayMs = failures === 0 ? intervalMs : Math.max(intervalMs, Math.min(longestRetryMs, 1_000 * 2 ** failures));
  timer = setTimeout(() => void update(), delayMs);
}

/** Renders the last response according to the view. */
function render() {
  detail.open(view.pod);
  const status = pods.value;
  showProblems(status);
  if (status === undefined) return;
  const { nodeName = '', lastSuccessfulRequestAt } = status;
  const allPods = detail.update(status.pods);
  setText(page.node, nodeName);
  nodes.show(status.nodes);
  document.body.classList.toggle('with-nodes', status.nodes !== undefined);
  document.title = nodeName === '' ? 'Pod statuses' : `${nodeName}: pod statuses`;
  const lastSuccess =
    lastSuccessfulRequestAt === undefined ? 'none yet' : age(lastSuccessfulRequestAt, nowMs, '', ' ago');
  setText(page.manager, `Manager ${status.state}, last successful request ${lastSuccess}`);
  for (const { id, has, input, number } of choices) {
    input.checked = view.show === id;
    setText(number, allPods.filter(has).length.toLocaleString('en'));
  }
  if (page.filter.value !== view.filter) page.filter.value = view.filter;
  page.sort.value = `${view.isDescending ? '-' : ''}${view.sort}`;

  const { rows, start, matching, page: shownPage, pages } = select(allPods, view);
  view.page = shownPage;
  const range = pages > 1 ? `${start + 1} to ${start + rows.length} of ` : '';
  setText(page.count, `${range}${matching.toLocaleString('en')} ${matching === 1 ? 'pod' : 'pods'}`);
  page.previous.disabled = shownPage === 0;
  page.next.disabled = shownPage === pages - 1;
  table.show(rows, view, nowMs);
  detail.show(allPods, nowMs);
}

/** @param {StatusDocument | undefined} status */
function showProblems(status) {
  const sentences = status === undefined ? [] : problemsOf(status, nowMs);
  if (failures > 0) {
    const since = status === undefined ? '' : ` since ${clockTime(nowMs, nowMs)}Z`;
    sentences.unshift(`This page was not updated${since} (${failure}); trying again.`);
  }
  setText(page.count, status === undefined ? 'Loading' : (page.count.textContent ?? ''));
  if ([...page.problems.children].map(({ textContent }) => textContent).join() === sentences.join()) return;
  page.problems.replaceChildren(...sentences.map((sentence) => element('p', {}, [sentence])));
}
