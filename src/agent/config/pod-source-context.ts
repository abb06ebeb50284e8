import { toPods } from './decode-manifest.ts';
import type { PodSourceContext } from './pod-source.ts';

export function podSourceContext(context: Omit<PodSourceContext, 'staticPods'>): PodSourceContext {
  const { nodeName } = context;
  return {
    ...context,
    staticPods: (manifest, origin) => toPods(manifest, { source: origin, isFile: false, nodeName }),
  };
}
