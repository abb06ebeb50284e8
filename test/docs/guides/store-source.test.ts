import { expect, it } from 'vitest';
import type { Pod } from 'kubelet-status-manager';
import { FakeClock, recordingLogger } from 'kubelet-status-manager/testing';
import { podSourceContext } from '../../../src/node/config/decode-manifest.ts';
import { storeSource } from '../../../examples/pod-source/store-source.ts';

it('the source of the guide delivers static pods of the node, and logs a manifest that is invalid', async () => {
  const logger = recordingLogger();
  const context = podSourceContext({ nodeName: 'node-a', clock: new FakeClock(), logger, apiPods: undefined });
  const containers = [{ name: 'app', image: 'app:1' }];
  const web = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: { containers } };
  const source = storeSource(async () => [web]);
  const pods = await new Promise<readonly Pod[]>((resolve) => source.start(resolve, context));
  await source.stop();
  expect(pods).toMatchObject([
    { metadata: { name: 'web-node-a', namespace: 'default', annotations: {} }, spec: { nodeName: 'node-a' } },
  ]);

  const warned = new Promise<unknown>((resolve) => (logger.warn = resolve));
  const broken = storeSource(async () => [{ ...web, kind: 'Job' }]);
  broken.start(() => {}, { ...context, logger });
  expect(await warned).toEqual({ reason: 'Expected `kind` to be Pod' });
  await broken.stop();
});
