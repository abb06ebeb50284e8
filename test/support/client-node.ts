export type ClientNode = typeof import('@kubernetes/client-node');

/** The major of client-node under test, from the environment variable `CLIENT_NODE`: `1.4` (default) or `2`. */
export const clientNodeMajor: '1.4' | '2' = readMajor(process.env['CLIENT_NODE']);

function readMajor(value: string | undefined): '1.4' | '2' {
  if (value === undefined || value === '' || value === '1.4') return '1.4';
  if (value === '2') return '2';
  throw new Error(`Expected CLIENT_NODE to be 1.4 or 2, got ${value}`);
}

/**
 * client-node of the major under test, typed as 1.4 either way: the types of the two exclude each
 * other. 2.x throws at import below Node 22.19.
 */
export async function loadClientNode(): Promise<ClientNode> {
  if (clientNodeMajor === '1.4') return import('@kubernetes/client-node');
  return (await import('client-node-2')) as unknown as ClientNode;
}
