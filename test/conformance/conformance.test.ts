import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { readGinkgoReport } from './ginkgo-report.ts';
import { compare, isConformant, tableOf } from './outcome.ts';
import { Progress } from './progress.ts';
import { recordedSkip, updateSpecList } from './record.ts';
import { missingRequirements } from '../support/node/requirements.ts';
import { describeSpecList, readSpecList, selectSpecs, type SpecList } from './spec-list.ts';

const list: SpecList = {
  kubelet: 'v1.37.1',
  passes: { '[sig-node] Events': ['should be sent'], '[sig-node] Pods': ['should be patched', 'should be updated'] },
  quick: ['[sig-node] Pods should be updated'],
  reasons: { '[sig-node] Events should be sent': 'No Events here' },
  kubeletFails: {},
};
const specs = selectSpecs(list, {});

function reported(text: string, State: string, Message?: string): object {
  const [, group = '', leaf = ''] = /^(\[.*?\] \w+) (.*)$/.exec(text) ?? [];
  return {
    LeafNodeType: 'It',
    LeafNodeText: leaf,
    ContainerHierarchyTexts: [group],
    State,
    RunTime: 1.26e9,
    ...(Message !== undefined && { Failure: { Message } }),
  };
}

function resultsOf(...reports: readonly object[]): ReturnType<typeof readGinkgoReport> {
  return readGinkgoReport([{ SpecReports: reports as never }]);
}

describe('the list', () => {
  it('names each spec once, and quick and excused ones are among them', async () => {
    const committed = await readSpecList();
    const names = selectSpecs(committed, {}).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining([...committed.quick, ...Object.keys(committed.reasons)]));
    expect(Object.keys(committed.kubeletFails).filter((name) => names.includes(name))).toEqual([]);
  });

  it.each([
    {
      options: { focus: /patched|sent/ },
      names: ['[sig-node] Events should be sent', '[sig-node] Pods should be patched'],
    },
    { options: { quick: true }, names: ['[sig-node] Pods should be updated'] },
    { options: { quick: true, focus: /patched/ }, names: [] },
  ])('is restricted by $options', ({ options, names }) => {
    expect(selectSpecs(list, options).map(({ name }) => name)).toEqual(names);
  });

  it('is printed with a reason for each spec that does not pass', async () => {
    const committed = await readSpecList();
    for (const reason of Object.values({ ...committed.reasons, ...committed.kubeletFails, ...recordedSkip }))
      expect(reason).not.toBe('');
    const kubeletFails = { '[sig-node] Pods should pull': 'Images cannot be pulled', '[sig-node] Other': 'No time' };
    expect(describeSpecList({ ...list, kubeletFails }, { focus: /Pods/, notRun: { Flaky: 'Unreliable' } })).toBe(
      [
        'Specs that the kubelet v1.37.1 passes here, and that are run: 2',
        '',
        'Specs that the kubelet itself does not pass here: 1',
        '  [sig-node] Pods should pull\n      Images cannot be pulled',
        '',
        'Not run, by a part of the name: 1',
        '  Flaky\n      Unreliable',
        '',
      ].join('\n'),
    );
  });

  it('has what a run of the kubelet passed and keeps what did not run', () => {
    const results = resultsOf(
      reported('[sig-node] Pods should be patched', 'failed', 'no patch'),
      reported('[sig-node] Probes should restart', 'passed'),
      reported('[sig-node] Pods should be updated', 'interrupted', 'Interrupted by User'),
      reported('[sig-node] Events should be sent', 'timedout', 'A suite timeout occurred'),
    );
    expect(updateSpecList(list, results)).toEqual({
      ...list,
      passes: {
        '[sig-node] Events': ['should be sent'],
        '[sig-node] Pods': ['should be updated'],
        '[sig-node] Probes': ['should restart'],
      },
      kubeletFails: { '[sig-node] Pods should be patched': 'no patch' },
    });
  });
});

describe("Ginkgo's report", () => {
  it('has a result for each spec that ran, with the first line of its failure', () => {
    const results = resultsOf(
      reported('[sig-node] Pods should be updated', 'failed', '\n  timed out\nafter 300 s'),
      reported('[sig-node] Pods left out by a filter', 'skipped'),
      reported('[sig-node] Pods without the feature', 'skipped', 'not supported'),
      { ...reported('[sig-node] Pods', 'passed'), LeafNodeType: 'BeforeSuite' },
    );
    expect(results).toEqual([
      {
        group: '[sig-node] Pods',
        name: '[sig-node] Pods should be updated',
        state: 'failed',
        seconds: 1.3,
        message: 'timed out',
      },
      {
        group: '[sig-node] Pods',
        name: '[sig-node] Pods without the feature',
        state: 'skipped',
        seconds: 1.3,
        message: 'not supported',
      },
    ]);
  });

  it('fails the run for a listed spec that failed, was skipped or did not run, but not for an excused one', () => {
    const outcomes = compare(
      specs,
      resultsOf(
        reported('[sig-node] Events should be sent', 'failed', 'no event'),
        reported('[sig-node] Pods should be patched', 'skipped', 'not supported'),
      ),
      list.reasons,
    );
    expect(outcomes.map(({ outcome, message }) => [outcome, message])).toEqual([
      ['excused', 'No Events here'],
      ['failed', 'skipped: not supported'],
      ['missing', 'It did not run'],
    ]);
    expect(isConformant(outcomes)).toBe(false);
    expect(isConformant(outcomes.slice(0, 1))).toBe(true);
    expect(isConformant([])).toBe(false);
    expect(tableOf(outcomes)).toEqual([
      ['Group', 'kubelet', 'passed', 'failed', 'excused', 'longest'],
      ['[sig-node] Events', '1', '0', '0', '1', '1.3 s'],
      ['[sig-node] Pods', '2', '0', '2', '0', '1.3 s'],
      ['all', '3', '0', '2', '1', '1.3 s'],
    ]);
  });
});

it('progress counts bullets wherever the output is cut, and names the specs that fail', () => {
  const output =
    'Will run 4 of 858 specs\nSS•S•\n------------------------------\n• [FAILED] [2.115 seconds]\n' +
    '[sig-node] ConfigMap [It] should be consumable [NodeConformance] [sig-node, NodeConformance]\n/configmap.go:96\n' +
    '  • a bullet in a message\n------------------------------\nS•S';
  for (let cut = 0; cut <= output.length; cut += 1) {
    const progress = new Progress();
    const failures = [...progress.read(output.slice(0, cut)), ...progress.read(output.slice(cut))];
    expect(failures).toEqual(['[sig-node] ConfigMap should be consumable [NodeConformance]']);
    expect({ passed: progress.passed, failed: progress.failed }).toEqual({ passed: 3, failed: 1 });
  }
});

it('says which programs are missing, and the command that gets them', () => {
  vi.stubEnv('XDG_CACHE_HOME', '/nowhere');
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(missingRequirements('conformance')).toContainEqual(
    expect.stringMatching(/kubelet 1\.\d+\.\d+, .*e2e\.test .*: `npm run kubernetes -- conformance`$/),
  );
});
