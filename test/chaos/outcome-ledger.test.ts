import { describe, expect, it } from 'vitest';
import { StatusManager } from '../../src/status-manager/index.ts';
import { FakeClock, FakePodClient, silentLogger } from '../../src/testing/index.ts';
import { OutcomeLedger } from './outcome-ledger.ts';

const pod = { metadata: { namespace: 'default', name: 'a', uid: 'uid-a' }, spec: { containers: [] } };

function setUp() {
  const ledger = new OutcomeLedger();
  const manager = new StatusManager({
    client: new FakePodClient([pod]),
    podCouldHaveRunningContainers: () => false,
    clock: new FakeClock(),
    logger: silentLogger,
  });
  const report = ledger.outcome.bind(ledger);
  return { ledger, manager, observed: ledger.observe(manager), report };
}

describe('OutcomeLedger', () => {
  it('finds no violation when each version gets its outcome', async () => {
    const { ledger, manager, observed, report } = setUp();
    manager.subscribe({ onOutcome: report });
    observed.setPodStatus(pod, { phase: 'Pending' });
    observed.setPodStatus(pod, { phase: 'Running' });
    await manager.syncBatch(true);
    expect(ledger.counts).toMatchObject({ written: 1, superseded: 1 });
    expect(ledger.broken(manager.inspect().pods)).toEqual([]);
  });

  it('finds a version whose outcome was not reported, and a whenWritten that is pending', () => {
    const { ledger, observed } = setUp();
    observed.setPodStatus(pod, { phase: 'Pending' });
    expect(ledger.broken([])).toEqual([
      'uid-a: 1 versions without a final outcome',
      '1 whenWritten() are still pending',
    ]);
  });

  it('finds a surplus outcome', async () => {
    const { ledger, manager, observed, report } = setUp();
    manager.subscribe({ onOutcome: report });
    observed.setPodStatus(pod, { phase: 'Pending' });
    await manager.syncBatch(true);
    report({ podUID: 'uid-a', podNamespace: 'default', podName: 'a', version: 1, outcome: 'written' });
    expect(ledger.broken([])).toEqual(['uid-a: written of version 1, but every version already had its outcome']);
  });
});
