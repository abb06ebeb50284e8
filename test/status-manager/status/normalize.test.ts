import { describe, expect, it } from 'vitest';
import { canonicalPodStatus } from '../../../src/status-manager/status/canonical.ts';
import { normalizeStatus } from '../../../src/status-manager/status/normalize.ts';
import type { ContainerStatus, Pod, PodStatus, PodStatusInput } from '../../../src/kube/objects/types.ts';
import { deepFreeze } from '../../support/arbitraries.ts';

function normalized(pod: Pod, input: PodStatusInput): PodStatus {
  return normalizeStatus(deepFreeze(pod), deepFreeze(canonicalPodStatus(input, { strict: true })));
}

function podWith(containers: number, initContainers = 0, ephemeralContainers = 0): Pod {
  const named = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `${i}` }));
  return {
    spec: {
      containers: named(containers),
      initContainers: named(initContainers),
      ephemeralContainers: named(ephemeralContainers),
    },
  };
}

function withMessage(name: string, message: string): object {
  return { name, state: { terminated: { message } }, lastState: { terminated: { message } } };
}

function messages(statuses: readonly ContainerStatus[] | undefined): (string | undefined)[] {
  return (statuses ?? []).flatMap(({ state, lastState }) => [state.terminated?.message, lastState.terminated?.message]);
}

describe('TestStatusNormalizationEnforcesMaxBytes', () => {
  const lists = ['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses'] as const;

  it('cuts the termination messages of all containers to what all may take together', () => {
    const containers = Array.from({ length: 48 }, (_, i) => withMessage(`${i}`, 'abcdefgh'.repeat(24 + (i % 3) * 24)));
    const status = normalized(podWith(24, 24), {
      initContainerStatuses: containers.slice(0, 24),
      containerStatuses: containers.slice(24),
    });
    const lengths = [...messages(status.initContainerStatuses), ...messages(status.containerStatuses)].map(
      (message) => message!.length,
    );
    expect(lengths).toHaveLength(96);
    expect([...new Set(lengths)].toSorted((a, b) => a - b)).toEqual([192, 256]);
  });

  it.each([
    ['one container', podWith(1), 12_288],
    ['no container in the spec', {}, 12_288],
    ['regular, init and ephemeral ones', podWith(1, 1, 1), 4_096],
    ['a share that is not an integer', podWith(7), 1_755],
  ])('%s', (_, pod, maxBytes) => {
    for (const list of lists) {
      const fits = 'x'.repeat(maxBytes);
      const container = { name: '0', state: { terminated: { message: `${fits}y` } }, lastState: {} };
      expect(messages(normalized(pod, { [list]: [container] })[list])).toEqual([fits, undefined]);
      const last = { name: '0', state: {}, lastState: { terminated: { message: `${fits}y` } } };
      expect(messages(normalized(pod, { [list]: [last] })[list])).toEqual([undefined, fits]);
      expect(messages(normalized(pod, { [list]: [withMessage('0', fits)] })[list])).toEqual([fits, fits]);
    }
  });

  it.each([
    // 12288 / 12 = 1024 bytes.
    ['two bytes', 'é', 512, 0],
    ['three bytes', '☃', 341, 1],
    ['four bytes', '\u{1d11e}', 256, 0],
    ['four bytes across the edge', '\u{1d11e}', 255, 3],
  ])('counts UTF-8 bytes and cuts at a code-point edge: %s', (_, character, whole, padding) => {
    const text = 'x'.repeat(padding) + character.repeat(whole + 1);
    const [message] = messages(
      normalized(podWith(12), { containerStatuses: [withMessage('0', text)] }).containerStatuses,
    );
    expect(message).toBe('x'.repeat(padding) + character.repeat(whole));
  });

  it('does not modify other messages', () => {
    const message = 'x'.repeat(20_000);
    const status: PodStatusInput = {
      message,
      conditions: [{ type: 'Ready', message }],
      containerStatuses: [{ name: 'c', state: { waiting: { message } } }],
    };
    expect(normalized({}, status)).toEqual(canonicalPodStatus(status, { strict: true }));
  });
});

describe('TestStatusNormalizeTimeStamp', () => {
  const exact = '2026-01-02T03:04:05.678901Z';
  const cut = '2026-01-02T03:04:05Z';

  it('all times are in UTC and have no fraction', () => {
    const states = [{ running: { startedAt: exact } }, { terminated: { startedAt: exact, finishedAt: exact } }];
    const containers = states.flatMap((state, i) => [
      { name: `a${i}`, state },
      { name: `b${i}`, lastState: state },
    ]);
    const status: PodStatusInput = {
      startTime: exact,
      conditions: [{ type: 'Ready', lastProbeTime: exact, lastTransitionTime: exact }],
      initContainerStatuses: containers,
      containerStatuses: containers,
      ephemeralContainerStatuses: containers,
      volumeHealth: [{ name: 'v', lastTransitionTime: exact }],
    };
    const text = JSON.stringify(normalized({}, status));
    expect(text).not.toContain(exact);
    expect(text.split(cut)).toHaveLength(1 + 1 + 2 + 3 * 6 + 1);
  });
});

describe('normalizeStatus: order of containers', () => {
  const named = (names: string) => names.split(' ').map((name) => ({ name }));
  const namesOf = (statuses: readonly ContainerStatus[] | undefined) => statuses?.map(({ name }) => name).join(' ');

  it.each(['containerStatuses', 'ephemeralContainerStatuses'] as const)(
    '%s are sorted by name, in byte order',
    (list) => {
      const status = normalized({}, { [list]: named('b é a \uffee B \u{1d11e} aa a-') });
      expect(namesOf(status[list])).toBe('B a a- aa b é \uffee \u{1d11e}');
    },
  );

  it.each([
    ['i0 i1 i2', 'x y i2 i0 z', 'i0 i2 y x z'],
    ['i0 i1 i2', 'i2 i1 i0', 'i0 i1 i2'],
    ['i0 i1 i2', 'i0 i1 i2', 'i0 i1 i2'],
    ['i1 i0', 'i0 i1', 'i1 i0'],
    ['i0', 'x y', 'x y'],
  ])('init containers %j, statuses %j: %j', (spec, statuses, expected) => {
    const pod = { spec: { initContainers: named(spec) } };
    const once = normalized(pod, { initContainerStatuses: named(statuses) });
    expect(namesOf(once.initContainerStatuses)).toBe(expected);
    expect(normalizeStatus(pod, once)).toBe(once);
  });

  it('without init containers in the spec the order stays', () => {
    expect(namesOf(normalized({}, { initContainerStatuses: named('b a') }).initContainerStatuses)).toBe('b a');
  });
});

describe('normalizeStatus', () => {
  it('returns the status itself when there is nothing to do, and else shares what is unchanged', () => {
    const status = deepFreeze(
      canonicalPodStatus(
        {
          podIPs: [{ ip: 'a' }],
          containerStatuses: [{ name: 'b' }, { name: 'a' }],
          initContainerStatuses: [{ name: 'i' }],
        },
        { strict: true },
      ),
    );
    const sorted = normalizeStatus({}, status);
    expect(sorted).not.toBe(status);
    expect(sorted.podIPs).toBe(status.podIPs);
    expect(sorted.initContainerStatuses).toBe(status.initContainerStatuses);
    expect(sorted.containerStatuses?.[0]).toBe(status.containerStatuses?.[1]);
    expect(normalizeStatus({}, sorted)).toBe(sorted);
  });
});
