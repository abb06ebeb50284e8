import { expect, it } from 'vitest';
import { TestAgent } from './test-agent.ts';

const missing = (...names: string[]) => Object.assign(new Error('401'), { missingPullSecrets: names });
const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { uid: 'u', name: 'web', namespace: 'ns' },
  spec: { containers: ['a', 'b'].map((name) => ({ name, image: `${name}:1` })), restartPolicy: 'Always' },
};
const reason = 'FailedToRetrieveImagePullSecret';

it.each([
  ['is an Event of the pod, once a sync, if a pull failed', missing('gone', 'away'), 1],
  ['is no Event while all can be read', missing(), 0],
  ['is no Event in a runtime that does not tell', new Error('401'), 0],
])('an imagePullSecret that cannot be read %s', async (_title, error, count) => {
  const agent = new TestAgent();
  agent.runtime.fail({ method: 'pullImage' }, error, Number.POSITIVE_INFINITY);
  await agent.create(pod);
  const events = agent.events.filter((event) => event.reason === reason);
  expect(events).toHaveLength(count);
  for (const { type, container, message } of events) {
    expect([type, container]).toEqual(['Warning', undefined]);
    expect(message).toBe(
      'Unable to retrieve some image pull secrets (gone, away); attempting to pull the image may not succeed.',
    );
  }
});
