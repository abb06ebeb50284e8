import { createVirtualNodes, type VirtualNodes } from 'kubelet-status-manager/virtual-nodes';
import { cloudProvider } from '../../../examples/virtual-kubelet-provider/provider.ts';
import { reportingLogger, writeReport } from '../agent-reports.ts';
import { LeakCheck } from '../leak-check.ts';
import type { AgentCommand } from '../protocol.ts';
import type { ReplicaConfig } from './replica-protocol.ts';

/* One replica in its own process: the virtual nodes of the example, shared out with others. */

const capacity = { cpu: '100', memory: '100Gi', pods: '110' };
let leakCheck: LeakCheck | undefined;
let replica: { readonly nodes: VirtualNodes; readonly reports: NodeJS.Timeout } | undefined;

process.on('message', (command: AgentCommand<ReplicaConfig>) => {
  if (command.do === 'run') {
    leakCheck = new LeakCheck();
    start(command.config);
  } else if (command.do === 'stop') void stop(command.drain);
});
process.on('disconnect', () => {
  if (replica !== undefined) process.exit(3);
});
process.on('warning', ({ name, message }) =>
  writeReport({ kind: 'log', level: 'error', message: name, reason: message }),
);

function start(config: ReplicaConfig): void {
  const { kubeconfig, cloudURL, identity, nodeNames, leaseDurationSeconds, reportPeriodMs } = config;
  const nodes = createVirtualNodes({
    client: kubeconfig,
    provider: cloudProvider(cloudURL),
    logger: reportingLogger(writeReport),
    replicas: { identity, namespace: 'kube-system', leaseDurationSeconds },
  });
  for (const nodeName of nodeNames) nodes.add({ nodeName, addresses: ['127.0.0.1'], nodeStatus: () => ({ capacity }) });
  nodes.start();
  const reports = setInterval(() => writeReport({ kind: 'owned', nodes: ownedNodes(nodes) }), reportPeriodMs);
  replica = { nodes, reports };
  writeReport({ kind: 'running' });
}

function ownedNodes(nodes: VirtualNodes): string[] {
  const { replicas, nodes: running } = nodes.inspect();
  const names = new Set(running.map(({ nodeName }) => nodeName));
  const owned = replicas!.nodes.filter(({ nodeName, state }) => state === 'owned' && names.has(nodeName));
  return owned.map(({ nodeName }) => nodeName);
}

async function stop(drain: boolean): Promise<void> {
  const { nodes, reports } = replica!;
  await nodes.stop({ drain });
  clearInterval(reports);
  replica = undefined;
  writeReport({ kind: 'stopped', left: await leakCheck!.left(), outcomes: {}, broken: [], thrown: 0 });
  process.disconnect();
}
