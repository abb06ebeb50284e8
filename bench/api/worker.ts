/*
 * One contestant of the API benchmark in its own process. It creates its pods, updates all of them
 * on each message and replies with the figures of this round, and deletes its pods at the end.
 * Usage, with fork: KUBECONFIG=FILE worker.js raw|core-v1|http|http-when-stale PODS
 */
import { readFileSync } from 'node:fs';
import { KubeHTTP } from '../../test/support/kube-http.ts';
import type { KubeConfigObject } from '../../test/support/control-plane.ts';
import { createPods, deletePods } from './bench-pods.ts';
import type { Contestant } from './contestant.ts';
import { coreV1Client, httpClient, managerContestant } from './manager-contestant.ts';
import { rawContestant } from './raw-contestant.ts';
import type { Round } from './round.ts';

const [name = '', podsArgument = '1000'] = process.argv.slice(2);
const kubeConfig = readFileSync(process.env['KUBECONFIG']!, 'utf8');
const { clusters, users } = JSON.parse(kubeConfig) as KubeConfigObject;
const { server: url, 'certificate-authority-data': caData } = clusters[0]!.cluster;
const { token } = users[0]!.user;

const http = new KubeHTTP({ url, token, caData });
await deletePods(http, name);
const pods = await createPods(http, name, Number(podsArgument));
const contestant = await enter();
let rounds = 0;
process.on('message', () => void run(rounds++).then((round) => process.send!(round)));
process.on('disconnect', () => void leave());
process.send!('ready');

async function enter(): Promise<Contestant> {
  switch (name) {
    case 'raw':
      return rawContestant(url, token, Buffer.from(caData, 'base64').toString(), pods);
    case 'core-v1':
      return managerContestant(await coreV1Client(kubeConfig), pods);
    case 'http':
      return managerContestant(httpClient(kubeConfig), pods);
    case 'http-when-stale':
      return managerContestant(httpClient(kubeConfig), pods, 'when-stale');
    default:
      throw new Error(`Unknown contestant ${name}`);
  }
}

async function leave(): Promise<void> {
  await contestant.close();
  await deletePods(http, name);
  await http.close();
}

async function run(round: number): Promise<Round> {
  const requestsBefore = contestant.requests;
  const cpuBefore = process.cpuUsage();
  const startMs = performance.now();
  await contestant.update(round);
  const seconds = (performance.now() - startMs) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    round,
    per_s: pods.length / seconds,
    cpu_us_per_sync: (user + system) / pods.length,
    requests_per_sync: (contestant.requests - requestsBefore) / pods.length,
  };
}
