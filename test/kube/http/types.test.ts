import type * as clientNode1 from '@kubernetes/client-node';
import { expectTypeOf, it } from 'vitest';
import type { HTTPPodClient, KubeConfigSource } from '../../../src/kube/http/index.ts';
import type { PodClient } from '../../../src/kube/client/pod-client.ts';

it("client-node's KubeConfig and parsed YAML are accepted by their types", () => {
  expectTypeOf<clientNode1.KubeConfig>().toExtend<KubeConfigSource>();
  expectTypeOf<{
    clusters: { name: string; cluster: { server: string } }[];
    users: { name: string; user: { token: string } }[];
    contexts: { name: string; context: { cluster: string; user: string } }[];
    'current-context': string;
  }>().toExtend<KubeConfigSource>();
});

it('HTTPPodClient is a PodClient', () => {
  expectTypeOf<HTTPPodClient>().toExtend<PodClient>();
});
