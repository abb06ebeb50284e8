import type { KubeConfigObject } from '../../../src/kube/http/index.ts';
import { base64, testPem } from './kube-server.ts';

/** A kubeconfig with one context; TLS servers of the test CA are trusted. */
export function kubeConfig(server: string, user: object = {}, cluster: object = {}): KubeConfigObject {
  return {
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': base64(testPem('ca')), ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
}

/** An exec user whose plugin is a piece of JavaScript. */
export function execUser(script: string, more: object = {}): { exec: Record<string, unknown> } {
  return {
    exec: {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: process.execPath,
      args: ['-e', script],
      interactiveMode: 'Never',
      ...more,
    },
  };
}

export function printCredential(status: object, apiVersion = 'client.authentication.k8s.io/v1'): string {
  return `process.stdout.write(${JSON.stringify(JSON.stringify({ kind: 'ExecCredential', apiVersion, status }))})`;
}

export function signal(): AbortSignal {
  return new AbortController().signal;
}
