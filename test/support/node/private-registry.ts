import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import type { Json } from '../kube-http.ts';

const port = 38_082;
const tag = '1';

/** Of a registry on this machine, to which containerd speaks without TLS. */
export const registry = `127.0.0.1:${port}`;
export const privateImage = `${registry}/private/app:${tag}`;
export const registryUser = { username: 'user', password: 'password' };

/**
 * Serves `privateImage` to `registryUser` alone. It is the image of an OCI layout with one more label: with the ID of
 * another image, whoever may use that may use this one. Resolves with what ends the registry.
 *
 * @param layout the folder of the layout
 */
export async function servePrivateImage(layout: string): Promise<() => void> {
  const contents = contentsOf(layout);
  const authorization = `Basic ${btoa(`${registryUser.username}:${registryUser.password}`)}`;
  const server = createServer((request, response) => {
    const content = contents.get(request.url!.split('/').at(-1)!);
    if (request.headers.authorization !== authorization)
      response.writeHead(401, { 'www-authenticate': 'Basic realm="private"' }).end();
    else if (content === undefined) response.writeHead(404).end();
    else {
      response.writeHead(200, { 'content-type': content.mediaType, 'content-length': content.body.length });
      response.end(content.body);
    }
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return () => {
    server.close();
    server.closeAllConnections();
  };
}

interface Content {
  readonly mediaType: string;
  readonly body: Buffer;
}

/** By tag and digest. */
function contentsOf(layout: string): ReadonlyMap<string, Content> {
  const contents = new Map<string, Content>();
  const add = (mediaType: string, body: Buffer): object => {
    const digest = `sha256:${createHash('sha256').update(body).digest('hex')}`;
    contents.set(digest, { mediaType, body });
    return { mediaType, digest, size: body.length };
  };
  const blob = ({ digest }: Json): Buffer => readFileSync(join(layout, 'blobs', digest.replace(':', '/')));
  const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));
  const index = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8'));
  const manifest = JSON.parse(blob(index.manifests[0]).toString());
  const config = JSON.parse(blob(manifest.config).toString());
  const own = json({
    ...manifest,
    config: add(manifest.config.mediaType, json({ ...config, config: { ...config.config, Labels: { private: '1' } } })),
    layers: manifest.layers.map((layer: Json) => add(layer.mediaType, blob(layer))),
  });
  const { mediaType } = index.manifests[0];
  add(mediaType, own);
  contents.set(tag, { mediaType, body: own });
  contents.set('', { mediaType: 'application/json', body: json({}) });
  return contents;
}
