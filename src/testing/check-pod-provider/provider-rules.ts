/** Each rule, with its reason: what is wrong with the pods of a provider that breaks it. */
export const providerRules = {
  'calls-succeed':
    'A call that rejects is repeated with a back-off, and its message is shown in the status of the pod.',
  errors: 'A call rejects with an Error whose message says why: the message is shown in the status of the pod.',
  secrets: 'Values of Secrets appear in no message and in no listed pod: anyone may read a status.',
  'valid-pods': 'An invalid entry is ignored, and its pod counts as neither present nor missing.',
  listed:
    'A pod is listed soon after `createPod` has resolved: a pod that is missing in a few lists in a row fails as lost.',
  'listed-once': 'A pod that is listed twice is ignored, because either entry may be wrong.',
  reference: 'A pod is listed with the UID, namespace, name and node that it was created with.',
  'container-names': 'Containers are found in the spec of the pod by their names.',
  'running-observed': 'A running container is shown as running.',
  'started-at': 'startedAt is the time at which the pod began to run; it does not change while the pod runs.',
  'pod-address': 'ips are the addresses of the pod, as text: the API server refuses a status with others.',
  'pod-hash':
    'podHash is the hash of the last call that took effect; with an older one, `updatePod` is called at each start.',
  'create-repeatable':
    '`createPod` is called again when its result is not known, and must find the pod that the first call created.',
  'abort-signals': 'A call ends soon after its signal is aborted: the next call for the pod waits for it.',
  'get-pod': '`getPod` shows what `listPods` shows, and undefined for a pod that the cloud does not have.',
  'update-repeatable':
    '`updatePod` is called again when its result is not known, and after a start without `previous`.',
  'delete-unknown': 'Deleting what the cloud does not have succeeds: a pod may be deleted before it was created.',
  'delete-repeatable': 'Deleting again succeeds: a call whose response was lost is repeated.',
  'delete-ends': 'A deleted pod stops within its grace period: its object stays on the API server until then.',
  'delete-shortened': 'A shorter grace period overrides an earlier one: the pod was deleted by force.',
  'delete-others': 'A deletion ends only the pod with this UID.',
  'exit-observed': 'A pod whose containers have ended for good is `stopped`.',
  'exit-code': 'exitCode is the exit code of the process: it decides between Succeeded and Failed.',
  'exit-times': 'finishedAt is not before startedAt, and both are recent.',
  'exit-kept': 'A pod that has stopped is listed until it is deleted: it fails as lost otherwise.',
  refusal:
    'A pod that cannot run is refused by a permanent ProviderError, or is `stopped`, with a reason in CamelCase.',
  restarted:
    "With `restarts: 'node'`, `createPod` with a higher restartCount runs a pod again that has stopped; it never runs again otherwise.",
  'restart-repeatable':
    '`createPod` with the restartCount that the pod has, or a lower one, does nothing: its result was not known, or it is late.',
  'restart-reported':
    'A run is reported with its own restartCount, start and end: with those of another run, it is missing, or ends twice.',
  'kill-ends':
    '`killContainer` ends the container within its grace period: it is not probed again before its next run.',
  'kill-reported':
    "The end is reported as any other, with its exit code, by a pod that stays listed: with `restarts: 'node'`, only a pod that is `stopped` without a reason runs again.",
  'kill-repeatable':
    'Killing again succeeds, and ends no run but that of `restartCount`: the result of the first call was not known, or it is late.',
  'kill-unknown': 'Killing what the cloud does not have succeeds: the pod may have ended on its own.',
  'kill-others': '`killContainer` ends only containers of the pod with this UID.',
  notified: 'Each change is notified, as it is listed: a provider with `notifyPods` is listed only once a minute.',
  unsubscribe: 'No notifications after the subscription has ended: the process may no longer own the node.',
  'log-content': '`logs` yields what the container has written.',
  'log-tail': 'With `tailLines`, only that many lines from the end are yielded.',
  'log-ends':
    'Without `follow`, `logs` ends after the lines written so far; with it, when the container ends or the signal is aborted.',
  'exec-result':
    'The exit code of the command is the result, not an error, and its output is written before it resolves.',
  'unknown-container': '`logs` and `exec` of an unknown pod reject, so that the client is told why.',
  stats: '`stats` has the running pods, with their UIDs and containers.',
  'survives-restart': 'The cloud keeps the pods while no process runs, and a new process lists them as they were.',
} as const satisfies Readonly<Record<string, string>>;

export type ProviderRule = keyof typeof providerRules;
