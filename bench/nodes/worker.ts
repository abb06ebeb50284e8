/*
 * Virtual nodes of this library in their own process, with a cloud in its memory.
 * Usage: KUBECONFIG=FILE worker.js PREFIX NODES [STATE]. See contestant.ts.
 */
import { beginProfile } from './profile.ts';

// It includes the loading of the modules.
if (process.env['PROFILE'] !== undefined) await beginProfile();
const { runVirtualNodes } = await import('./run-virtual-nodes.ts');
await runVirtualNodes();
