import { createServer } from 'node:http';
import { fileJournal } from 'kubelet-status-manager';
import { type ContainerRuntime, createNodeAgent } from 'kubelet-status-manager/agent';
import { inClusterConfig } from 'kubelet-status-manager/http';
import { createPrometheusMetrics } from 'kubelet-status-manager/prometheus';
import { createStatusPage } from 'kubelet-status-manager/statusz';
import { Registry } from 'prom-client';

export async function runAgent(nodeName: string, runtime: ContainerRuntime): Promise<void> {
  const register = new Registry();
  const agent = createNodeAgent({
    nodeName,
    client: inClusterConfig(),
    runtime,
    journal: await fileJournal('/var/lib/node-agent/journal'),
    metrics: createPrometheusMetrics({ register }),
  });

  let isReady = false;
  const server = createServer((request, response) => {
    if (request.url === '/metrics') return void register.metrics().then((body) => response.end(body));
    if (request.url === '/healthz') return response.end('ok\n');
    return response.writeHead(request.url === '/readyz' && isReady ? 200 : 503).end();
  });
  server.listen(9090); // for Prometheus and the probes of the pod
  const statusPage = createStatusPage(agent.statusManager, { nodeName });
  const pageServer = createServer(statusPage);
  pageServer.listen(9091, '127.0.0.1'); // kubectl port-forward reaches it

  async function stop(): Promise<void> {
    isReady = false;
    await agent.stop({ drain: true, deadlineMs: 20_000 });
    statusPage.close();
    pageServer.close();
    server.close();
  }
  process.once('SIGTERM', () => void stop());
  agent.start();
  await agent.whenReady();
  isReady = true;
}
