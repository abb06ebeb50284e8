import { type ContainerRuntime, createNodeAgent, openAgentState, serveAgent } from 'kubelet-status-manager/agent';
import { inClusterConfig } from 'kubelet-status-manager/http';
import { createPrometheusMetrics } from 'kubelet-status-manager/prometheus';
import { Registry } from 'prom-client';

export async function runAgent(nodeName: string, runtime: ContainerRuntime): Promise<void> {
  const register = new Registry();
  const agent = createNodeAgent({
    nodeName,
    client: inClusterConfig(),
    runtime,
    ...(await openAgentState('/var/lib/node-agent')),
    metrics: createPrometheusMetrics({ register }),
  });
  // /metrics, /healthz and /readyz for Prometheus and the probes of the pod:
  const publicServer = await serveAgent(agent, { host: '0.0.0.0', port: 9090, register, statusPage: false });
  // The same and the status page, for kubectl port-forward:
  const localServer = await serveAgent(agent, { port: 10_248, register });
  agent.start();

  async function stop(): Promise<void> {
    await agent.stop({ drain: true, deadlineMs: 20_000 });
    await publicServer.close();
    await localServer.close();
  }
  process.once('SIGTERM', () => void stop());
}
