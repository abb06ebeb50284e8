import { expect, it } from 'vitest';
import { toAPIPod } from '../../../src/node/pod-workers/update-pod-options.ts';

it('a pod that only the runtime knows has each of its containers once', () => {
  const run = { state: 'exited', createdAtMs: 0 } as const;
  const containers = ['app', 'app', 'log'].map((name, i) => ({ ...run, id: `fake://${i}`, name }));
  expect(toAPIPod({ uid: 'uid-9', name: 'old', namespace: 'ns', containers })).toEqual({
    metadata: { uid: 'uid-9', name: 'old', namespace: 'ns' },
    spec: { containers: [{ name: 'app' }, { name: 'log' }] },
  });
});
