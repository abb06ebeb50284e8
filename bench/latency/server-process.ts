import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Pod } from 'kubelet-status-manager';

export type Command = 'kill' | 'start-again' | 'pods';

export interface Reply {
  readonly kubeConfig: object;
  /** As the server shows them; only after the start and to the command `pods`. */
  readonly pods: readonly Pod[];
}

export interface ServerProcess {
  readonly first: Reply;
  obey(command: Command): Promise<Reply>;
  end(): Promise<void>;
}

/** Starts the ApiServer in another process, with that many pods. */
export async function startServer(latencyMs: number, pods: number): Promise<ServerProcess> {
  const file = fileURLToPath(new URL('server.js', import.meta.url));
  const child = fork(file, [String(latencyMs), String(pods)]);
  const exit = once(child, 'exit');
  const reply = async (): Promise<Reply> => {
    const answer = await Promise.race([
      once(child, 'message').then(([message]) => message as Reply),
      exit.then(() => undefined),
    ]);
    if (answer === undefined) throw new Error('The ApiServer ended early');
    return answer;
  };
  return {
    first: await reply(),
    obey(command) {
      const answer = reply();
      child.send(command);
      return answer;
    },
    async end() {
      child.disconnect();
      await exit;
    },
  };
}
