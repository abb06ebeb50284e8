/** How an agent reaches the API server, and as whom. */
export interface Access {
  /** The URL of the faulty proxy. */
  readonly server: string;
  readonly token: string;
  /** An exec credential plugin that replaces the token. */
  readonly exec?: object | undefined;
  /** A forward proxy for connections to `server`. */
  readonly proxyUrl?: string | undefined;
}

export function kubeConfig({ server, token, exec, proxyUrl }: Access): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'chaos', cluster: { server, ...(proxyUrl !== undefined && { 'proxy-url': proxyUrl }) } }],
    users: [{ name: 'agent', user: exec === undefined ? { token } : { exec } }],
    contexts: [{ name: 'chaos', context: { cluster: 'chaos', user: 'agent' } }],
    'current-context': 'chaos',
  };
}
