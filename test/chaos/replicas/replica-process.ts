import { Agent, request } from 'node:http';
import { NodeOwnership } from '../../../src/provider/replicas/node-ownership.ts';
import type { OwnedNode } from '../../../src/provider/replicas/node-ownership-options.ts';
import { createPodClient, type HTTPPodClient } from '../../../src/kube/http/index.ts';
import { reportingLogger, writeReport } from '../agent-reports.ts';
import { LeakCheck } from '../leak-check.ts';
import type { AgentCommand } from '../protocol.ts';
import type { ReplicaConfig } from './replica-protocol.ts';

/* One replica in its own process: it calls the cloud for each node that it owns, again and again. */

let leakCheck: LeakCheck | undefined;
let replica: { readonly ownership: NodeOwnership; readonly client: HTTPPodClient; readonly agent: Agent } | undefined;

process.on('message', (command: AgentCommand<ReplicaConfig>) => {
  if (command.do === 'run') {
    leakCheck = new LeakCheck();
    start(command.config);
  } else if (command.do === 'stop') void stop(command.drain);
});
process.on('disconnect', () => {
  if (replica !== undefined) process.exit(3);
});

function start(config: ReplicaConfig): void {
  const { kubeconfig, cloudURL, identity, nodeNames, leaseDurationSeconds, callPeriodMs } = config;
  const logger = reportingLogger(writeReport);
  const client = createPodClient(kubeconfig, { connectTimeoutMs: 2_000, logger });
  const agent = new Agent({ keepAlive: true });
  const loops = new Map<OwnedNode, { end: () => void; readonly ended: Promise<void> }>();
  const ownership = new NodeOwnership({
    transport: client.transport,
    identity,
    namespace: 'kube-system',
    nodeNames,
    leaseDurationSeconds,
    logger,
    onOwned: (node) => loops.set(node, useNode(node, identity, cloudURL, agent, callPeriodMs)),
    onLost: async (node) => {
      loops.get(node)!.end();
      await loops.get(node)!.ended;
      loops.delete(node);
    },
  });
  replica = { ownership, client, agent };
  ownership.start();
  writeReport({ kind: 'running' });
}

/** Calls the cloud for the node, one call after the other, until `end` is called or the ownership has ended. */
function useNode(node: OwnedNode, identity: string, cloudURL: string, agent: Agent, periodMs: number) {
  let isEnding = false;
  let wake = (): void => {};
  const run = async (): Promise<void> => {
    while (!isEnding && node.isOwned()) {
      await call(`${cloudURL}/${node.nodeName}/${identity}/${node.epoch}`, agent);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, periodMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };
  return {
    ended: run(),
    end: () => {
      isEnding = true;
      wake();
    },
  };
}

/** Waits for the whole response even if the ownership ends, so that nothing is in flight afterwards. */
function call(url: string, agent: Agent): Promise<void> {
  return new Promise((resolve) => {
    const sent = request(url, { agent }, (response) => response.resume().once('close', resolve));
    sent.once('error', () => resolve());
    sent.end();
  });
}

async function stop(drain: boolean): Promise<void> {
  const { ownership, client, agent } = replica!;
  await ownership.stop({ drain });
  await client.transport.close();
  agent.destroy();
  replica = undefined;
  writeReport({ kind: 'stopped', left: await leakCheck!.left(), outcomes: {}, broken: [], thrown: 0 });
  process.disconnect();
}
