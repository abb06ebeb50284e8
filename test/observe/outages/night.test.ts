import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { nightFaults, watchNight } from './night.ts';

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

describe.skipIf(!hasPromtool)('an operator sees each fault of a node (skipped without the package prometheus)', () => {
  it.each(nightFaults)(
    '$name: the page shows it within 60 s, an alert fires, and both end within 30 s of it',
    async (fault) => {
      const { page, alert } = await watchNight(fault);
      expect([page?.text, alert?.text]).toEqual([expect.stringMatching(/./), expect.stringMatching(/./)]);
      expect(page!.afterSeconds).toBeLessThanOrEqual(60);
      expect(page!.clearSeconds).toBeLessThanOrEqual(30);
      expect(alert!.clearSeconds).toBeLessThanOrEqual(30);
    },
  );
});
