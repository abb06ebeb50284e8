import axe, { type AxeResults } from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, desk, launchBrowser, phone } from './browser.ts';
import { type DemoReplicas, startDemoReplicas } from './demo-replicas.ts';

const skipReason = chromiumPath === undefined ? ' (skipped: no chromium on PATH, and CHROMIUM_PATH is not set)' : '';

describe.skipIf(chromiumPath === undefined)(`the status page of virtual nodes in a browser${skipReason}`, () => {
  let browser: Browser;
  let demo: DemoReplicas;

  beforeAll(async () => {
    [browser, demo] = await Promise.all([launchBrowser(), startDemoReplicas()]);
  });
  afterAll(async () => {
    await browser.close();
    await demo[Symbol.asyncDispose]();
  });

  async function open(options: BrowserContextOptions = { viewport: desk }): Promise<Page> {
    const page = await browser.newPage(options);
    await page.goto(`${demo.url}/statusz/`);
    await page.locator('#pods tbody tr').first().waitFor();
    return page;
  }

  const cellsOf = (page: Page, name: string) =>
    page
      .locator('#nodes tbody tr')
      .filter({ has: page.getByRole('button', { name }) })
      .locator('td');

  it('names its process, and shows the state, owner, pods and failing calls of each node of all processes', async () => {
    const page = await open();
    const { identity, nodes } = demo.nodes.inspect().replicas!;
    expect(await page.locator('h1').textContent()).toBe(`Pod statuses ${identity}`);
    expect(await page.locator('#nodes-summary').textContent()).toBe(
      '6 virtual nodes: 2 running in this process, 2 with a problem',
    );
    expect(await page.locator('#nodes tbody tr').count()).toBe(6);
    for (const { nodeName, state, holder } of nodes) {
      const [shownState, owner, pods, failing, problem] = await cellsOf(page, nodeName).allTextContents();
      expect([shownState, owner]).toEqual([state === 'owned' ? 'running' : 'in another process', holder]);
      if (state === 'owned') {
        expect([pods, failing]).toEqual(['8', '2']);
        expect(problem).toMatch(/ since \d\d:\d\d:\d\dZ/);
      } else expect([pods, failing, problem]).toEqual(['', '', '']);
    }
    await page.close();
  });

  it('shows pods whose calls fail first, with their node, the reason, and since when', async () => {
    const page = await open();
    const first = await page.locator('#pods tbody tr').first().locator('td').allTextContents();
    expect(first).toContainEqual(expect.stringMatching(/^cloud-eu-west-1[a-f]$/));
    expect(first).toContainEqual(expect.stringMatching(/^next try of the provider, failing for \d+m/));
    expect(first).toContainEqual(expect.stringMatching(/^Quota "GPUS_ALL_REGIONS" exceeded/));
    await page.close();
  });

  it('a click on a node shows its pods', async () => {
    const page = await open();
    const [name] = demo.nodes.inspect().nodes.map(({ nodeName }) => nodeName);
    await page.getByRole('button', { name: name! }).click();
    expect(await page.locator('#count').textContent()).toBe('8 pods');
    expect(new Set(await page.locator('#pods tbody .node').allTextContents())).toEqual(new Set([name]));
    await page.close();
  });

  it('without JavaScript, it says where its data is, and shows no control', async () => {
    const page = await browser.newPage({ javaScriptEnabled: false });
    await page.goto(`${demo.url}/statusz/`);
    expect(await page.locator('main').innerText()).toBe('This page needs JavaScript. Its data is in pods.json.');
    expect(await page.locator('button:visible, input:visible, table:visible').count()).toBe(0);
    await page.close();
  });

  it.each(
    [desk, phone, { width: 320, height: 640 }].flatMap((viewport) =>
      (['light', 'dark'] as const).map((colorScheme) => ({ viewport, colorScheme })),
    ),
  )('is accessible and no wider than the window: $colorScheme, $viewport.width pixels', async (options) => {
    const page = await open(options);
    const { width } = options.viewport;
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    const overflowing = await page
      .locator('#nodes :is(th, td)')
      .evaluateAll((cells) =>
        cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map(({ textContent }) => textContent),
      );
    expect(overflowing).toEqual([]);
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate<AxeResults>('axe.run()');
    expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
    await page.close();
  });
});
