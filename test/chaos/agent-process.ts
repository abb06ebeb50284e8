import { Agent } from './agent.ts';
import { writeReport } from './agent-reports.ts';
import { installDisk } from './disk.ts';
import { LeakCheck } from './leak-check.ts';
import type { AgentCommand, AgentReport } from './protocol.ts';

/*
 * An agent in its own process, so that it can be killed. It exits on its own after it was stopped;
 * whatever keeps it alive is a leak.
 */

function send(report: AgentReport): void {
  writeReport(report.kind === 'accepted' ? { ...report, isDiskFull: disk.isFull } : report);
}

const disk = installDisk();
let agent: Agent | undefined;
let leakCheck: LeakCheck | undefined;

process.on('message', (command: AgentCommand) => {
  switch (command.do) {
    case 'run':
      leakCheck = new LeakCheck();
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
  send({ kind: 'stopped', left: (await leakCheck?.left()) ?? [], ...stopped });
  process.disconnect();
}
