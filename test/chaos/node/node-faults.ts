import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeUnderTest } from '../../support/node/node-under-test.ts';

/** What a fault acts on. */
export interface FaultContext {
  readonly node: NodeUnderTest;
  /** A file system of its own. */
  readonly rootDir: string;
  readonly isQuick: boolean;
  /** Resolves when the agent serves /readyz. */
  readonly untilAgentResponds: () => Promise<void>;
}

/** A fault of the node, and what the agent says of it. */
export interface NodeFault {
  /** Resolves when it is over. */
  readonly cause: (context: FaultContext) => Promise<void>;
  /** A message that the agent logs while it lasts, unless it is quick. */
  readonly failed?: RegExp;
  /** A message that the agent logs when it is over. */
  readonly recovered?: RegExp;
  /** Whether /readyz fails while it lasts, unless it is quick. */
  readonly isUnready?: boolean;
  /** Whether the agent may evict pods. */
  readonly evicts?: boolean;
}

const agentKillPeriodMs = 2_000;
const refillPeriodMs = 100;
const fillBytes = 1 << 20;

const seconds = ({ isQuick }: FaultContext, quick: number, whole: number): number => (isQuick ? quick : whole) * 1_000;

export const nodeFaults = {
  'containerd-kill': {
    failed: /unable to retrieve pods/,
    recovered: /able to retrieve pods again/,
    isUnready: true,
    cause: async (context) => {
      const { machine } = context.node;
      await machine.killContainerd();
      await sleep(seconds(context, 2, 15));
      await machine.powerOn();
    },
  },
  'containerd-freeze': {
    failed: /unable to retrieve pods/,
    recovered: /able to retrieve pods again/,
    isUnready: true,
    cause: (context) => freeze(context, (signal) => context.node.machine.signalContainerd(signal)),
  },
  'agent-kill': {
    cause: async (context) => {
      const { agent } = context.node;
      const endsAtMs = Date.now() + seconds(context, 6, 60);
      while (Date.now() < endsAtMs) {
        await agent.stop('SIGKILL');
        await agent.start();
        // On a busy machine it may not even have begun after 2 s.
        await Promise.all([sleep(agentKillPeriodMs), context.untilAgentResponds()]);
      }
    },
  },
  'api-kill': {
    failed: /Pod statuses cannot be written/,
    recovered: /Pod statuses can be written again/,
    cause: async (context) => {
      const { machine } = context.node;
      await machine.killAPIServer();
      // The agent speaks of an outage after 30 s.
      await sleep(seconds(context, 2, 45));
      await machine.startAPIServer();
    },
  },
  'api-freeze': {
    failed: /Pod statuses cannot be written/,
    recovered: /Pod statuses can be written again/,
    isUnready: true,
    cause: (context) => freeze(context, (signal) => context.node.machine.signalAPIServer(signal)),
  },
  'disk-full': {
    evicts: true,
    failed: /An eviction threshold is met/,
    recovered: /An eviction threshold is no longer met/,
    cause: async (context) => {
      const path = join(context.rootDir, 'filler');
      const endsAtMs = Date.now() + seconds(context, 5, 40);
      // The agent frees some of it.
      for (; Date.now() < endsAtMs; await sleep(refillPeriodMs)) fill(path);
      rmSync(path, { force: true });
    },
  },
} as const satisfies Readonly<Record<string, NodeFault>>;

export type NodeFaultName = keyof typeof nodeFaults;
export const nodeFaultNames = Object.keys(nodeFaults) as readonly NodeFaultName[];

/** Freezes a process, and lets it continue. */
async function freeze(context: FaultContext, signal: (name: 'SIGSTOP' | 'SIGCONT') => void): Promise<void> {
  signal('SIGSTOP');
  await sleep(seconds(context, 4, 60));
  signal('SIGCONT');
}

/** Writes until the disk is full. */
function fill(path: string): void {
  const file = openSync(path, 'a');
  try {
    for (let bytes = Buffer.alloc(fillBytes, 1); bytes.length > 0;) {
      try {
        writeSync(file, bytes);
      } catch {
        bytes = bytes.subarray(0, bytes.length >> 1);
      }
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
