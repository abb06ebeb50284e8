// node:test: the checklist for a provider of virtual nodes, with a test for each rule.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkPodProvider } from 'kubelet-status-manager/testing';
import { Cloud } from '../virtual-kubelet-provider/cloud.ts';
import { cloudProvider } from '../virtual-kubelet-provider/provider.ts';

test('the provider', async (t) => {
  const cloud = new Cloud({ slowMs: 0, failures: 0, forgotten: 0 });
  const url = await cloud.start();
  t.after(() => cloud.close());

  const running = { name: 'app', image: 'app:1' };
  const results = await checkPodProvider(cloudProvider(url), { running });
  for (const { rule, passed, message } of results) await t.test(rule, () => assert.ok(passed, message));
});
