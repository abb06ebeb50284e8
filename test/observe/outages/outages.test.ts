import { beforeAll, describe, expect, it } from 'vitest';
import type { ManagerInspection } from '../../../src/status-manager/inspection.ts';
import { Node, outages, type Seen } from './outages.ts';

interface Observed {
  readonly warnings: readonly object[];
  readonly scrape: string;
  readonly inspection: ManagerInspection;
}

function matches(assertion: () => void): boolean {
  try {
    assertion();
    return true;
  } catch {
    return false;
  }
}

function findsInLog({ log }: Seen, { warnings }: Observed): boolean {
  return warnings.some((line) => matches(() => expect(line).toMatchObject(log)));
}

function findsInMetrics({ metrics }: Seen, { scrape }: Observed): boolean {
  return metrics.every((line) => line.test(scrape));
}

function findsInInspection({ inspect }: Seen, { inspection }: Observed): boolean {
  return matches(() => expect(inspection).toMatchObject(inspect));
}

describe('each outage can be identified without further knowledge', () => {
  const observed = new Map<string, Observed>();

  beforeAll(async () => {
    for (const { name, cause } of outages) {
      const node = new Node();
      await cause(node);
      const { warnings } = node.logger;
      observed.set(name, { warnings, scrape: await node.register.metrics(), inspection: node.manager.inspect() });
      await node.manager.stop();
    }
  });

  describe.each(outages)('$name', (outage) => {
    it('in the log', () => {
      const { message, fields } = outage.log;
      expect(observed.get(outage.name)!.warnings).toContainEqual({
        level: 'warn',
        message,
        fields: expect.objectContaining(fields),
      });
    });

    it('in the metrics', () => {
      const { scrape } = observed.get(outage.name)!;
      for (const line of outage.metrics) expect(scrape).toMatch(line);
    });

    it('in inspect()', () => {
      expect(observed.get(outage.name)!.inspection).toMatchObject(outage.inspect);
    });
  });

  it.each([
    ['the log', findsInLog],
    ['the metrics', findsInMetrics],
    ['inspect()', findsInInspection],
  ])('and takes none for another by %s', (_where, finds) => {
    const confused = outages.flatMap((outage) =>
      outages
        .filter((other) => other !== outage && finds(outage, observed.get(other.name)!))
        .map((other) => `${other.name} looks like: ${outage.name}`),
    );
    expect(confused).toEqual([]);
  });

  it('and the number of log lines does not grow with time or pods', () => {
    for (const { warnings } of observed.values()) expect(warnings.length).toBeLessThanOrEqual(5);
  });
});
