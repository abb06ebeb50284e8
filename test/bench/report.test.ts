import { describe, expect, it } from 'vitest';
import { performanceDocument } from '../../bench/performance-document.ts';
import { alignColumns, type Figure, summarize, tableOf } from '../../bench/report.ts';
import { linePlot, niceCeiling } from '../../bench/svg.ts';

const figure: Figure = {
  name: 'update',
  unit: 'updates/s',
  values: [3000, 1000, 2000],
  reference: { name: 'kubelet', values: [1000, 500] },
  target: { of: 'ratio', atLeast: 2.5 },
};

describe('summarize', () => {
  it('evaluates the ratio of the medians', () => {
    expect(summarize(figure)).toMatchObject({
      samples: 3,
      median: 2000,
      min: 1000,
      max: 3000,
      referenceMedian: 750,
      ratio: 2000 / 750,
      target: '≥ 2.5 ×',
      isMet: true,
    });
  });

  it.each<[string, Figure, boolean | undefined]>([
    ['the value, if the target is for the value', { ...figure, target: { of: 'value', atMost: 1999 } }, false],
    ['the bound itself as met', { ...figure, target: { of: 'value', atMost: 2000 } }, true],
    ['nothing if a ratio has no reference', { ...figure, reference: undefined }, undefined],
    ['nothing without a target', { ...figure, target: undefined }, undefined],
  ])('evaluates %s', (_what, input, isMet) => {
    expect(summarize(input).isMet).toBe(isMet);
  });
});

describe('tableOf', () => {
  it('shows three digits or whole numbers from 1,000 on, the range, and the reference', () => {
    expect(tableOf({ title: '', notes: [], figures: [{ ...figure, values: [1234.5, 0.12345] }] })[1]).toEqual([
      'update',
      'updates/s',
      '617',
      '0.123 … 1,235',
      '2',
      'kubelet 750',
      '0.82',
      '≥ 2.5 ×',
      'no',
    ]);
  });

  it('is aligned for a terminal', () => {
    expect(
      alignColumns([
        ['a', 'bb'],
        ['aaa', 'b'],
      ]),
    ).toBe('a    bb\naaa  b\n');
  });
});

describe('performanceDocument', () => {
  it('contains the environment, the table, and the plots', () => {
    const text = performanceDocument([
      {
        report: { title: 'Speed', notes: ['A note.'], figures: [figure], plots: { 'speed.svg': '<svg/>' } },
        environment: { command: 'npm run bench', date: '2000-01-01' },
      },
    ]);
    expect(text).toContain(
      '## Speed\n\nA note.\n\n- command: npm run bench\n- date: 2000-01-01\n\nCompared with kubelet, n = 3:\n\n|  | median |',
    );
    expect(text).toContain('| update | 2,000 updates/s | 1,000–3,000 | 750 | 2.67 | ≥ 2.5 ×, met |');
    expect(text).toContain('![Speed](speed.svg)');
  });
});

describe('linePlot', () => {
  it.each([
    [0, 1],
    [1, 1],
    [1.2, 2],
    [2.4, 2.5],
    [4, 5],
    [7, 10],
    [20_000, 20_000],
    [0.03, 0.05],
  ])('an axis up to %s ends at %s', (value, end) => {
    expect(niceCeiling(value)).toBeCloseTo(end, 10);
  });

  it('places the points by the axes, the greatest at the top right', () => {
    const svg = linePlot({
      title: 'a < b',
      xLabel: 'x',
      yLabel: 'y',
      points: [
        [0, 0],
        [10, 5],
      ],
    });
    expect(svg).toContain('points="72,304 612,44"');
    expect(svg).toContain('a &lt; b');
  });
});
