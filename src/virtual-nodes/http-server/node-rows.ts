import sortBy from 'lodash/sortBy.js';
import { formatText, formatTime } from '../../status-manager/explain/format.ts';
import {
  type HealthCheck,
  leaseProblem,
  nodeStatusProblem,
  type PodWorkerInspection,
  sentences,
} from '../../node/index.ts';
import type { NodeRow } from '../../observe/statusz/status-document.ts';
import type { VirtualNodeInspection } from '../virtual-node.ts';
import type { VirtualNodesInspection } from '../virtual-nodes.ts';

type Failure = string | undefined;

/** Readiness: the pods of the cloud are known, the Nodes are registered and alive, and this process may own nodes. */
export function readinessChecks(inspection: VirtualNodesInspection, nowMs: number): readonly HealthCheck[] {
  const { state, nodes, replicas } = inspection;
  const unregistered = nodes.filter(({ node }) => !node.registered);
  return [
    { name: 'running', failure: state === 'running' ? undefined : `the virtual nodes are ${state}` },
    { name: 'list', failure: listProblem(inspection, nowMs) },
    {
      name: 'nodes',
      failure:
        ofNodes(unregistered, (node) => nodeStatusProblem(node, nowMs)) ??
        ofNodes(unregistered, () => 'the Node is not registered'),
    },
    { name: 'lease', failure: ofNodes(nodes, (node) => leaseProblem(node, nowMs)) },
    ...(replicas === undefined ? [] : [{ name: 'replicas', failure: membershipProblem(inspection, nowMs) }]),
  ];
}

/** What is wrong, one sentence each, for people. A problem of many nodes is one sentence. */
export function nodesProblems(inspection: VirtualNodesInspection, nowMs: number): string[] {
  const { nodes, list, queuedCalls } = inspection;
  const invalid =
    list.invalid &&
    `the provider reports invalid pods since ${formatTime(list.invalid.failingSince, nowMs)}: ${formatText(list.invalid.reason)}`;
  return sentences([
    list.failure && listProblem(inspection, nowMs),
    invalid,
    ofNodes(nodes, (node) => nodeStatusProblem(node, nowMs)),
    ofNodes(nodes, (node) => leaseProblem(node, nowMs)),
    membershipProblem(inspection, nowMs),
    callsProblem(failingWorkers(nodes), nowMs),
    queuedCalls > 0 ? 'calls of the provider wait, because `concurrency` others are in progress' : undefined,
  ]);
}

/** All nodes of all processes, as far as this one knows: those with a problem first, then by name. */
export function nodeRows({ nodes, replicas }: VirtualNodesInspection, nowMs: number): NodeRow[] {
  const running = new Map(nodes.map((node) => [node.nodeName, node]));
  const owners = new Map(replicas?.nodes.map((node) => [node.nodeName, node]));
  const rows = [...new Set([...running.keys(), ...owners.keys()])].map((nodeName): NodeRow => {
    const node = running.get(nodeName);
    const { holder: owner, state = 'stopped' } = owners.get(nodeName) ?? {};
    if (node === undefined) return { nodeName, state, owner, pods: 0, failingPods: 0 };
    const failing = failingWorkers([node]);
    const problem = nodeStatusProblem(node, nowMs) ?? leaseProblem(node, nowMs) ?? callsProblem(failing, nowMs);
    const pods = node.statusManager.pods.length;
    return { nodeName, state: node.state, owner, pods, failingPods: failing.length, problem };
  });
  const rank = ({ problem }: NodeRow): number => (problem === undefined ? 1 : 0);
  return rows.toSorted((a, b) => rank(a) - rank(b) || (a.nodeName < b.nodeName ? -1 : 1));
}

function listProblem({ state, list }: VirtualNodesInspection, nowMs: number): Failure {
  const { failure, listedAt } = list;
  if (failure !== undefined)
    return `the pods of the provider cannot be listed since ${formatTime(failure.failingSince, nowMs)}: ${formatText(failure.reason)}`;
  return state === 'running' && listedAt === undefined ? 'the provider has not listed its pods yet' : undefined;
}

function membershipProblem({ state, replicas }: VirtualNodesInspection, nowMs: number): Failure {
  if (state !== 'running' || replicas === undefined) return undefined;
  const { memberSince, failingSince, failureReason = '' } = replicas;
  const why = failingSince && `its Leases fail since ${formatTime(failingSince, nowMs)}: ${formatText(failureReason)}`;
  if (memberSince === undefined) return `this process may not own nodes${why === undefined ? '' : `; ${why}`}`;
  return why && `this process will lose its nodes; ${why}`;
}

/** Those whose last call or sync failed, longest failing first. */
function failingWorkers(nodes: readonly VirtualNodeInspection[]): PodWorkerInspection[] {
  const workers = nodes.flatMap(({ podWorkers }) => podWorkers.filter(({ failingSince }) => failingSince));
  return sortBy(workers, 'failingSince');
}

function callsProblem(failing: readonly PodWorkerInspection[], nowMs: number): Failure {
  const [first] = failing;
  if (first === undefined) return undefined;
  const { fullName, failingSince = '', failureReason = '' } = first;
  return `calls of the provider or syncs fail for ${failing.length === 1 ? 'a pod' : `${failing.length} pods`}, since ${formatTime(failingSince, nowMs)} for ${fullName}: ${formatText(failureReason)}`;
}

/** The problem of the first node that has it, and how many others have one. */
function ofNodes<Node extends { readonly nodeName: string }>(
  nodes: readonly Node[],
  of: (node: Node) => Failure,
): Failure {
  const failing = nodes.flatMap((node) => {
    const problem = of(node);
    return problem === undefined ? [] : [{ name: node.nodeName, problem }];
  });
  const [first] = failing;
  if (first === undefined) return undefined;
  const others =
    failing.length === 1 ? '' : ` and ${failing.length - 1} other ${failing.length === 2 ? 'node' : 'nodes'}`;
  return `node ${first.name}${others}: ${first.problem}`;
}
