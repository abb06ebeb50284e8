import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { nightFaults, watchNight } from './night.ts';

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
/** Only the next try can show that nobody undoes a status any more, and a back-off delays it. */
const endsAtNextTry = new Set(['another writer undoes a status']);
const soon = nightFaults.filter(({ name }) => !endsAtNextTry.has(name));
const late = nightFaults.filter(({ name }) => endsAtNextTry.has(name));

describe.skipIf(!hasPromtool)('an operator sees each fault of a node (skipped without the package prometheus)', () => {
  it.each(soon)(
    '$name: the page shows it within 60 s, an alert fires, and both end within 30 s of it',
    async (fault) => {
      const { page, alert } = await watchNight(fault);
      expect([page?.text, alert?.text]).toEqual([expect.stringMatching(/./), expect.stringMatching(/./)]);
      expect(page!.afterSeconds).toBeLessThanOrEqual(60);
      expect(page!.clearSeconds).toBeLessThanOrEqual(30);
      expect(alert!.clearSeconds).toBeLessThanOrEqual(30);
    },
  );

  it.each(late)(
    '$name: the page shows it within 60 s, an alert fires, and both end with the next try',
    async (fault) => {
      const { page, alert } = await watchNight(fault);
      expect([page?.text, alert?.text]).toEqual([expect.stringContaining('hot-loop'), 'PodStatusContested']);
      expect(page!.afterSeconds).toBeLessThanOrEqual(60);
      // The next try is up to 160 s after the end, a full batch 10 s later, and a scrape 15 s after that.
      expect(page!.clearSeconds).toBeLessThanOrEqual(170);
      expect(alert!.clearSeconds).toBeLessThanOrEqual(185);
    },
  );
});
