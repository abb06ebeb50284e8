import { existsSync } from 'node:fs';

export type ClientNode = typeof import('@kubernetes/client-node');

/** The major version of client-node under test, from the environment variable `CLIENT_NODE`: `1.4` (default) or `2`. */
export const clientNodeMajor: '1.4' | '2' = readMajor(process.env['CLIENT_NODE']);

function readMajor(value: string | undefined): '1.4' | '2' {
  if (value === undefined || value === '' || value === '1.4') return '1.4';
  if (value === '2') return '2';
  throw new Error(`Expected CLIENT_NODE to be 1.4 or 2, got ${value}`);
}

/** npm installs it if Node.js is new enough (test/client-node-2/package.json). */
export const isClientNode2Installed = existsSync(new URL('../../node_modules/client-node-2', import.meta.url));

/**
 * client-node in the major version under test. It is always typed as 1.4, because the types of the
 * two are incompatible. 2.x throws on import below Node 22.19.
 */
export async function loadClientNode(): Promise<ClientNode> {
  if (clientNodeMajor === '1.4') return import('@kubernetes/client-node');
  // Not a literal, so that the compiler does not resolve a package that is not installed everywhere.
  const name: string = 'client-node-2';
  return (await import(name)) as ClientNode;
}
