import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { BrowserContextOptions } from 'playwright-core';
import { chromiumPath, desk, launchBrowser, phone } from './browser.ts';
import { DemoNode, fillNode, serve } from './demo-node.ts';
import { startDemoReplicas } from './demo-replicas.ts';

/*
 * npm run screenshots: the pictures of the status page, in docs/images. The node's time stands still,
 * so that they show the same each time.
 */

if (chromiumPath === undefined) throw new Error('Found no Chromium: set CHROMIUM_PATH');
const folder = path.resolve('docs/images');
mkdirSync(folder, { recursive: true });

const node = new DemoNode();
await fillNode(node);
const server = await serve(node.page);
const browser = await launchBrowser();

async function take(
  file: string,
  options: BrowserContextOptions,
  openPod: boolean,
  { url }: { readonly url: string } = server,
): Promise<void> {
  const page = await browser.newPage(options);
  await page.goto(`${url}/statusz/`);
  await page.locator('#pods tbody tr').first().waitFor();
  if (openPod) {
    await page.getByRole('link').first().click();
    await page.getByText('Version 1 written').waitFor();
  }
  await page.screenshot({ path: path.join(folder, file) });
  await page.close();
}

await take('statusz-desk-light.png', { viewport: desk, colorScheme: 'light' }, false);
await take('statusz-desk-dark.png', { viewport: desk, colorScheme: 'dark' }, true);
await take('statusz-phone-light.png', { viewport: phone, colorScheme: 'light' }, false);
await take('statusz-phone-dark.png', { viewport: phone, colorScheme: 'dark' }, true);

const replicas = await startDemoReplicas();
await take('statusz-virtual-nodes.png', { viewport: desk, colorScheme: 'light' }, false, replicas);
await replicas[Symbol.asyncDispose]();

await browser.close();
await server[Symbol.asyncDispose]();
await node.manager.stop();
