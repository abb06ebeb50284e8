import type { HealthCheck } from '../node/index.ts';

interface Results {
  isPassing: boolean;
  readonly counts: Record<'success' | 'error', number>;
}

/** `/metrics/slis`: the results of the checks of `/healthz`. Source: component-base `slis.Register` */
export class HealthMetrics {
  readonly #results = new Map<string, Results>();

  observe(checks: readonly HealthCheck[]): void {
    for (const { name, failure } of checks) {
      const results = this.#results.get(name) ?? { isPassing: false, counts: { success: 0, error: 0 } };
      results.isPassing = failure === undefined;
      results.counts[results.isPassing ? 'success' : 'error']++;
      this.#results.set(name, results);
    }
  }

  /** In the text format of Prometheus. */
  format(): string {
    const all = [...this.#results];
    const lines = [
      '# HELP kubernetes_healthcheck Result of the last run of a health check',
      '# TYPE kubernetes_healthcheck gauge',
      ...all.map(
        ([name, { isPassing }]) => `kubernetes_healthcheck{name="${name}",type="healthz"} ${isPassing ? 1 : 0}`,
      ),
      '# HELP kubernetes_healthchecks_total Runs of health checks',
      '# TYPE kubernetes_healthchecks_total counter',
      ...all.flatMap(([name, { counts }]) =>
        (['error', 'success'] as const)
          .filter((status) => counts[status] > 0)
          .map(
            (status) =>
              `kubernetes_healthchecks_total{name="${name}",status="${status}",type="healthz"} ${counts[status]}`,
          ),
      ),
    ];
    return `${lines.join('\n')}\n`;
  }
}
