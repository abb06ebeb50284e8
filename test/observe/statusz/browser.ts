import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/** Of Debian, Fedora and Google. */
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** `CHROMIUM_PATH`, or the first browser on `PATH`; undefined when there is none. */
export const chromiumPath = process.env['CHROMIUM_PATH'] || findOnPath();

function findOnPath(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter).filter(Boolean);
  return folders.flatMap((folder) => names.map((name) => path.join(folder, name))).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A headless browser. Chromium's sandbox does not work for root. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath!,
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
}

export const desk = { width: 1120, height: 600 };
export const phone = { width: 390, height: 780 };
