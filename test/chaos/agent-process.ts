import { writeSync } from 'node:fs';
import { Agent } from './agent.ts';
import { installDisk } from './disk.ts';
import type { AgentCommand, AgentReport } from './protocol.ts';

/*
 * An agent in its own process, so that it can be killed. It exits on its own after it was stopped;
 * whatever keeps it alive is a leak.
 */

const stdout = 1;
const leakDeadlineMs = 5_000;

/** Synchronous, so that reports are not lost when the process gets SIGKILL. */
function send(report: AgentReport): void {
  const sent = report.kind === 'accepted' ? { ...report, isDiskFull: disk.isFull } : report;
  const line = Buffer.from(`${JSON.stringify(sent)}\n`);
  for (let written = 0; written < line.length;) written += writeSync(stdout, line, written);
}

const disk = installDisk();
let agent: Agent | undefined;
let resourcesBefore: readonly string[] = [];

process.on('message', (command: AgentCommand) => {
  switch (command.do) {
    case 'run':
      resourcesBefore = process.getActiveResourcesInfo();
      agent = new Agent(command.config, send);
      void agent.start();
      break;
    case 'jump':
      agent?.jump(command.ms);
      break;
    case 'disk':
      disk.isFull = command.isFull;
      break;
    case 'report':
      agent?.startReporting();
      break;
    case 'settle':
      agent?.settle();
      break;
    case 'show':
      agent?.show();
      break;
    case 'stop':
      void stop(command.drain);
  }
});
// The parent process is gone.
process.on('disconnect', () => {
  if (agent !== undefined) process.exit(3);
});
process.on('warning', ({ name, message }) => send({ kind: 'log', level: 'error', message: name, reason: message }));

async function stop(drain: boolean): Promise<void> {
  const stopped = (await agent?.stop(drain)) ?? { outcomes: {}, broken: [], thrown: 0 };
  agent = undefined;
  const deadline = Date.now() + leakDeadlineMs;
  let left = resourcesLeft();
  while (left.length > 0 && Date.now() < deadline) {
    await new Promise((resolve) => setImmediate(resolve));
    left = resourcesLeft();
  }
  send({ kind: 'stopped', left, ...stopped });
  process.disconnect();
}

/** Sockets, timers, handles and requests that did not exist before the agent ran. */
function resourcesLeft(): string[] {
  const left = process.getActiveResourcesInfo().filter((name) => name !== 'Immediate');
  for (const name of resourcesBefore) {
    const i = left.indexOf(name);
    if (i >= 0) left.splice(i, 1);
  }
  return left;
}
