import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { chromiumPath, desk, launchBrowser, phone } from './browser.ts';
import { DemoNode, fillNode, serve } from './demo-node.ts';

/*
 * npm run screenshots: the pictures of docs/statusz.md, in docs/images. The node's time stands still,
 * so that they show the same each time.
 */

if (chromiumPath === undefined) throw new Error('Found no Chromium: set CHROMIUM_PATH');
const folder = path.resolve('docs/images');
mkdirSync(folder, { recursive: true });

const node = new DemoNode();
await fillNode(node);
const server = await serve(node.page);
const browser = await launchBrowser();

for (const [device, viewport] of Object.entries({ desk, phone })) {
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await browser.newPage({ viewport, colorScheme });
    await page.goto(`${server.url}/statusz/`);
    await page.getByText('forbidden').first().waitFor();
    await page.screenshot({ path: path.join(folder, `statusz-${device}-${colorScheme}.png`) });
    await page.getByRole('link').first().click();
    await page.getByText('Version 1 written').waitFor();
    await page.screenshot({ path: path.join(folder, `statusz-pod-${device}-${colorScheme}.png`) });
    await page.close();
  }
}

await browser.close();
await server[Symbol.asyncDispose]();
await node.manager.stop();
