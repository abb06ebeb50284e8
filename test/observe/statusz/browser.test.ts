import axe, { type AxeResults } from 'axe-core';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { createStatusPage } from 'kubelet-status-manager/statusz';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fault } from '../../../src/testing/index.ts';
import { Node, outages } from '../outages/outages.ts';
import { chromiumPath, desk, launchBrowser, phone } from './browser.ts';
import { DemoNode, fillNode, serve } from './demo-node.ts';

const skipReason = chromiumPath === undefined ? ' (skipped: no chromium on PATH, and CHROMIUM_PATH is not set)' : '';

describe.skipIf(chromiumPath === undefined)(`the status page in a browser${skipReason}`, () => {
  let browser: Browser;
  let node: DemoNode;
  let server: Awaited<ReturnType<typeof serve>>;
  /** What the browser complained about: errors of scripts, and what the CSP blocked. */
  let complaints: string[];
  const pages: Page[] = [];

  async function open(address = '', options: BrowserContextOptions = { viewport: desk }): Promise<Page> {
    const page = await browser.newPage(options);
    pages.push(page);
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
    });
    // Time in the page goes on, and can be moved.
    await page.clock.install();
    await page.goto(`${server.url}/statusz/${address}`);
    await page.locator('#count').filter({ hasText: /\d/ }).waitFor();
    return page;
  }

  /** Something happens on the node, and the page may be rendered again. */
  async function onNode(change: () => void): Promise<void> {
    change();
    await node.settled();
    node.clock.advance(1_000);
  }

  /** URLs of the requests from now on. */
  function requestsOf(page: Page): readonly string[] {
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    return urls;
  }

  const expectShown = (locator: Locator) => locator.waitFor();
  const links = (page: Page) => page.locator('tbody a');
  const dialog = (page: Page) => page.getByRole('dialog');
  const focused = (page: Page) => page.evaluate<string>('document.activeElement.textContent');
  const expectCount = (page: Page, text: string) => expectShown(page.getByRole('status').filter({ hasText: text }));

  beforeAll(async () => {
    browser = await launchBrowser();
  });

  afterAll(() => browser.close());

  afterEach(async () => {
    for (const page of pages.splice(0)) await page.close();
    await server[Symbol.asyncDispose]();
    await node.manager.stop();
    if (complaints.length > 0) throw new Error(`The browser complained:\n${complaints.join('\n')}`);
  });

  function start(): Promise<void> {
    complaints = [];
    node = new DemoNode({ refreshIntervalMs: 100 });
    return serve(node.page).then((started) => void (server = started));
  }

  describe('with 2,000 pods', () => {
    beforeEach(async () => {
      await start();
      await fillNode(node);
    });

    it('shows 100 of them at a time, longest unsent first', async () => {
      const page = await open();
      await expectCount(page, '1 to 100 of 2,001 pods');
      expect(await page.locator('tbody tr').count()).toBe(100);
      expect(await page.locator('tbody tr').first().textContent()).toMatch(
        /48s.*PATCH 403 Forbidden.*is forbidden: User/,
      );
      await page.getByRole('button', { name: 'Next' }).click();
      await expectCount(page, '101 to 200 of 2,001 pods');
      expect(await page.title()).toBe('worker-1: pod statuses');
    });

    it('filters by words in any order and by group, and a link to the result shows the same', async () => {
      const page = await open();
      await page.getByLabel('Filter').fill('MONITORING checkout-');
      await expectCount(page, '63 pods');
      await page.getByText('Not ready').click();
      const texts = await links(page).allTextContents();
      expect(texts.length).toBeGreaterThan(0);
      expect(texts.every((text) => text.startsWith('monitoring/checkout-'))).toBe(true);

      const other = await open(new URL(page.url()).hash);
      expect(await links(other).allTextContents()).toEqual(texts);
      expect(await other.getByLabel('Filter').inputValue()).toBe('MONITORING checkout-');
    });

    it('sorts by a column, and announces it to screen readers', async () => {
      const page = await open();
      await page.getByRole('button', { name: 'Pod', exact: true }).click();
      const header = page.getByRole('columnheader', { name: 'Pod' });
      expect(await header.getAttribute('aria-sort')).toBe('ascending');
      const ascending = await links(page).allTextContents();
      expect(ascending).toEqual(ascending.toSorted());
      await page.getByRole('button', { name: 'Pod', exact: true }).click();
      expect(await header.getAttribute('aria-sort')).toBe('descending');
      const descending = await links(page).allTextContents();
      expect(descending).toEqual(descending.toSorted().toReversed());
    });

    it('can be used with the keyboard alone', async () => {
      const page = await open();
      await page.keyboard.press('/');
      await page.keyboard.type('forbidden');
      await expectCount(page, '1 pod');
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.press('Delete');
      await expectCount(page, '2,001 pods');

      // Pause, Next (Previous is disabled), seven headings (two columns are hidden at this width), then the pods.
      for (let i = 0; i < 10; i++) await page.keyboard.press('Tab');
      const [first, second] = await links(page).allTextContents();
      expect(await focused(page)).toBe(first);
      await page.keyboard.press('ArrowDown');
      expect(await focused(page)).toBe(second);
      await page.keyboard.press('End');
      expect(await focused(page)).toBe(await links(page).last().textContent());
      await page.keyboard.press('Home');
      await page.keyboard.press('Enter');
      await dialog(page).waitFor();
      expect(await focused(page)).toBe('Close');
      await page.keyboard.press('Escape');
      await dialog(page).waitFor({ state: 'hidden' });
      expect(await focused(page)).toBe(first);
    });

    it('a pod opens with its conditions and its timeline; the address leads there; Back closes it', async () => {
      const page = await open();
      await links(page).first().click();
      await expectShown(dialog(page).getByRole('heading', { name: 'default/checkout-' }));
      await expectShown(dialog(page).getByText(/^default\/checkout-.* Ready=False since .* version 2 /));
      await expectShown(dialog(page).getByText('Ready False').first());
      await expectShown(dialog(page).getByText('Version 1 written'));
      await expectShown(dialog(page).getByText(/^Version 2 forbidden by the API server 6 times; next try at/));

      const other = await open(new URL(page.url()).hash);
      await expectShown(dialog(other).getByText('Version 1 written'));
      await page.goBack();
      await dialog(page).waitFor({ state: 'hidden' });
    });
  });

  describe('with a few pods', () => {
    beforeEach(async () => {
      await start();
      node.manager.start();
      for (const name of ['a', 'b', 'c']) node.set(node.add(name));
      await node.settled();
    });

    it('updates without a reload, and the focus stays on its pod while the order changes', async () => {
      const page = await open();
      await page.evaluate('window.isTheSamePage = true');
      await links(page).nth(2).focus();
      expect(await focused(page)).toBe('default/c');
      node.client.faults.next({ verb: 'patch', name: 'c', count: 100 }, fault.status(503, { message: 'no leader' }));
      const c = node.podManager.getPodByUID('uid-c')!;
      await onNode(() => node.set(c, { isReady: false }));
      await links(page).first().filter({ hasText: 'default/c' }).waitFor();
      await expectShown(page.locator('tbody tr').first().getByText('no leader'));
      expect(await links(page).allTextContents()).toEqual(['default/c', 'default/a', 'default/b']);
      expect(await focused(page)).toBe('default/c');

      // Of a pod that is gone, its neighbour gets the focus.
      await onNode(() => node.manager.removeOrphanedStatuses(['uid-a', 'uid-b']));
      await expectCount(page, '2 pods');
      expect(await focused(page)).toBe('default/a');
      expect(await page.evaluate('window.isTheSamePage')).toBe(true);
    });

    it('an open pod is updated, too, and its deletion is announced', async () => {
      const page = await open('#pod=uid-a');
      await expectShown(dialog(page).getByText('Version 1 written'));
      await onNode(() => node.set(node.podManager.getPodByUID('uid-a')!, { isReady: false }));
      await expectShown(dialog(page).getByText('Ready True → False').first());
      await expectShown(dialog(page).getByText('Version 2 written'));
      await onNode(() => node.manager.removeOrphanedStatuses([]));
      await expectShown(dialog(page).getByText(node.manager.explain('uid-a').sentence));
      await expectShown(dialog(page).getByText('Version 2 written'));
    });

    it('shows data as text: markup in a condition, a reason or an error does nothing', async () => {
      const markup = '<img src=x onerror="document.title=\'broken\'"><script>document.title="broken"</script>';
      node.client.faults.next({ verb: 'patch', count: 100 }, fault.status(422, { message: markup }));
      await onNode(() =>
        node.manager.setPodStatus(node.podManager.getPodByUID('uid-a')!, {
          phase: 'Failed',
          reason: markup,
          message: markup,
          conditions: [
            {
              type: markup,
              status: 'False',
              reason: markup,
              message: markup,
              lastProbeTime: null,
              lastTransitionTime: null,
            },
          ],
        }),
      );
      const page = await open('#pod=uid-a');
      await expectShown(dialog(page).getByRole('strong').getByText(`${markup} False`));
      expect(await dialog(page).getByText(markup).count()).toBeGreaterThan(4);
      expect(await page.locator('img, script:not([src])').count()).toBe(0);
      expect(await page.title()).toBe('worker-1: pod statuses');
    });

    it('Pause stops the updates until Resume', async () => {
      const page = await open();
      const pause = page.getByRole('button', { name: 'Pause updates' });
      await pause.click();
      expect(await pause.getAttribute('aria-pressed')).toBe('true');
      const requests = requestsOf(page);
      await onNode(() => node.set(node.add('d')));
      await page.clock.runFor(60_000);
      expect(requests).toEqual([]);
      await pause.click();
      await expectCount(page, '4 pods');
    });

    it('shows the start and cause of an outage, keeps its data, and recovers', async () => {
      const page = await open();
      await page.route('**/pods.json', (route) => route.abort());
      await expectShown(
        page.getByRole('alert').getByText('This page was not updated since 11:58:00Z (Failed to fetch); trying again.'),
      );
      expect(await links(page).count()).toBe(3);
      await page.unroute('**/pods.json');
      await page.getByRole('alert').getByText('not updated').waitFor({ state: 'detached' });
      expect(complaints.splice(0).every((text) => text.includes('ERR_FAILED'))).toBe(true);
    });

    it('keeps the columns and their widths when something goes wrong', async () => {
      const page = await open();
      const widths = () =>
        page
          .getByRole('columnheader')
          .evaluateAll((headers) =>
            headers.map((header) => [header.textContent, header.getBoundingClientRect().width]),
          );
      const before = await widths();
      node.client.faults.next({ verb: 'patch', name: 'c', count: 100 }, fault.status(503, { message: 'no leader' }));
      await onNode(() => node.set(node.podManager.getPodByUID('uid-c')!, { isReady: false }));
      await expectShown(page.locator('tbody tr').first().getByText('no leader'));
      expect(await widths()).toEqual(before);
    });

    it('says that requests fail with the first one that does', async () => {
      const page = await open();
      node.client.faults.next({ count: 100 }, fault.status(503, { message: 'no leader' }));
      await onNode(() => node.set(node.podManager.getPodByUID('uid-c')!, { isReady: false }));
      await expectShown(
        page
          .getByRole('alert')
          .getByText(/^The manager has not been able to write a status since 11:58:00Z: GET fails with 503/),
      );
    });

    it('the table shows the same version as the open pod, also when its own document is older', async () => {
      const page = await open('#pod=uid-a', { viewport: { width: 1_600, height: 600 } });
      await expectShown(dialog(page).getByText('Version 1 written'));
      node.client.hold({ name: 'a' });
      // The JSON of all pods is not rendered again, because the time of the node stands still.
      node.set(node.podManager.getPodByUID('uid-a')!, { isReady: false });
      await expectShown(dialog(page).getByText(/ version 2 /));
      const row = page.locator('tbody tr').filter({ hasText: 'default/a' });
      expect(await row.locator('.version').textContent()).toBe('2');
      expect(await row.locator('.sent').textContent()).toBe('1');
    });

    it('stops polling while it is hidden', async () => {
      const page = await open();
      // What a browser does with a tab in the background.
      await page.evaluate(`
        Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      `);
      const requests = requestsOf(page);
      await page.clock.runFor(60_000);
      expect(requests).toEqual([]);
      await onNode(() => node.set(node.add('d')));
      await page.evaluate(`
        delete document.visibilityState;
        document.dispatchEvent(new Event('visibilitychange'));
      `);
      await expectCount(page, '4 pods');
    });
  });

  describe('names the cause of every outage', () => {
    const shown: Readonly<Record<string, RegExp>> = {
      'the API server is down':
        /The manager has not been able to write a status since 03:04:05Z: GET fails without a response .*ECONNREFUSED/,
      'the credentials have expired (401)':
        /The manager has not been able to write a status .*: GET fails with 401 \(401 Unauthorized\)/,
      'the API server hangs':
        /The manager has not been able to write a status .*: GET fails without a response \(No response within 30000 ms/,
      '403 to GET': /back-off after GET 403 Forbidden .*pods "a" is forbidden/,
      '403 to PATCH': /back-off after PATCH 403 Forbidden .*cannot patch pods\/status/,
      'a refused DELETE': /back-off after DELETE 403 Invalid .*cannot delete pods/,
      'a pod stuck Terminating by podCouldHaveRunningContainers': /containers that could be running/,
      'a pod stuck Terminating by a finalizer': /finalizers: example.com\/backup/,
      'a hot loop by another writer':
        /back-off: what is written is undone.*The API server does not keep what is written/,
      'a throttled client (429)': /The manager has not been able to write a status .*: GET fails with 429/,
      'a slow API server, with requests that wait for a connection': /connection to GET/,
      'a drain that gives up': /The status manager has been stopped: no status is written/,
      'an informer that is not synced':
        /The informer has not listed the pods yet; it has failed since 03:04:05Z: .*TimeoutError/,
    };

    it.each(outages)('$name', async ({ name, cause }) => {
      const outage = new Node();
      await cause(outage);
      complaints = [];
      node = new DemoNode();
      server = await serve(createStatusPage(outage.manager, { clock: outage.clock }));
      const page = await open();
      await expectCount(page, 'pod');
      expect(await page.locator('main').textContent()).toMatch(shown[name] ?? 'no expectation for this outage');
      await outage.manager.stop();
    });
  });

  describe('on a phone', () => {
    beforeEach(async () => {
      await start();
      node.manager.start();
      const name = 'a-very-long-name-without-an-end'.repeat(9).slice(0, 253);
      const message = `${'https://registry.example/'.repeat(12)} `.repeat(3);
      node.client.faults.next(
        { verb: 'patch', count: 10 },
        fault.status(422, { message: message.replaceAll('/', '') }),
      );
      node.set(node.add(name, { uid: 'long' }), { phase: 'Failed', reason: 'NodeAffinity'.repeat(10), message });
      await node.settled();
    });

    it('nothing is wider than the screen, however long a name or a message is', async () => {
      const width = 'document.documentElement.scrollWidth';
      const page = await open('', { viewport: { width: 320, height: 640 }, isMobile: true, hasTouch: true });
      expect(await page.evaluate(width)).toBe(320);
      await links(page).first().tap();
      await expectShown(dialog(page).getByText('Version 1 refused'));
      expect(await page.evaluate(width)).toBe(320);
      expect(await page.evaluate('document.querySelector("dialog").scrollWidth')).toBeLessThanOrEqual(320);
      await dialog(page).getByRole('button', { name: 'Close' }).tap();
      await dialog(page).waitFor({ state: 'hidden' });
    });

    it('is sorted with a list of the columns', async () => {
      const page = await open('', { viewport: phone });
      await page.getByLabel('Sort by').selectOption({ label: 'Status, descending' });
      expect(page.url()).toContain('sort=-status');
    });
  });

  describe('axe finds no violation', () => {
    beforeEach(async () => {
      await start();
      await fillNode(node, 120);
      node.client.faults.next({ count: Number.POSITIVE_INFINITY }, fault.status(503, { message: 'no leader' }));
      node.set(node.podManager.getPodByUID([...node.manager.inspect().pods].at(-1)!.podUID)!, { isReady: false });
      // An outage is shown after 30 s.
      await node.pass(40);
    });

    const cases = [desk, phone].flatMap((viewport) =>
      (['light', 'dark'] as const).flatMap((colorScheme) => [
        { viewport, colorScheme, what: 'the table' },
        { viewport, colorScheme, what: 'a pod' },
      ]),
    );

    it.each(cases)('in $what, $colorScheme, $viewport.width pixels wide', async ({ viewport, colorScheme, what }) => {
      const page = await open('', { viewport, colorScheme });
      await expectShown(page.getByRole('alert').getByText('The manager has not been able to write a status'));
      if (what === 'a pod') {
        await links(page).first().click();
        await expectShown(dialog(page).getByText('Version 1 written'));
      }
      // Through the debugger, which the CSP does not concern.
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate<AxeResults>('axe.run()');
      expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
    });
  });
});
