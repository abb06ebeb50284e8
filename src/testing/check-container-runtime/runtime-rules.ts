/** Each rule, with its reason: what is wrong with a pod whose runtime breaks it. */
export const runtimeRules = {
  'calls-succeed': 'A call that rejects is retried with a back-off, and its message is shown in the status of the pod.',
  'runtime-ready': 'No pod is started while RuntimeReady or NetworkReady is false.',
  'unknown-pod': 'The agent cleans up after a pod until getPod resolves with undefined.',
  'unknown-container':
    'startContainer and execSync of an unknown container reject with an error that names it, for the status of the pod; stopContainer and removeContainer succeed, because the container is already gone.',
  repeatable: 'Stopping or removing again does nothing: a call whose response was lost is repeated.',
  'error-messages':
    'Messages are shown in the status of the pod; they must not begin with the prefix of gRPC (5 NOT_FOUND: ).',
  'listed-once': 'listPods shows each pod once, with its name and namespace, and the containers of getPod.',
  'container-id': 'Clients split containerID at ://, and the agent tells the runs of a container apart by it.',
  'container-name': 'The agent finds the container in the spec of the pod by its name.',
  'created-visible': 'If a created container is not shown, the agent creates it again.',
  'created-state':
    'A container that was not started is waiting: its state is created, without startedAtMs and finishedAtMs.',
  'created-at': 'createdAtMs is in milliseconds since the epoch; the newest run is the one that is shown.',
  attempt: 'attempt becomes restartCount of the status: it is at least the value that createContainer received.',
  hash: 'A running container is restarted if its hash differs from the hash of its spec.',
  'sandbox-id': 'Containers of another sandbox than the newest one do not count for the pod.',
  image: 'kubectl and the scheduler (ImageLocality) read image from the status.',
  'image-id': 'imageID is the digest or the ID of the image that runs, which differs from the tag in the spec.',
  'image-ref':
    'imageRef resolves with undefined for a missing image, which is then pulled, and with a reference afterwards.',
  'running-state': 'startContainer resolves when the container runs; the postStart hook is run next.',
  'started-at':
    'startedAtMs is in milliseconds since the epoch, not before createdAtMs; it is startedAt of the status.',
  'resources-format':
    'Quantities are shown as the runtime writes them, and the kubelet writes 100m and 64Mi, not 0.1 and 67108864.',
  'resize-shown': 'A resize is in progress until the status shows the new resources, if it shows any.',
  'empty-dir-mode': 'Any user of a container may write an emptyDir, so its mode is 777.',
  'log-path':
    'kubectl logs and log collectors read NAMESPACE_NAME_UID/CONTAINER/ATTEMPT.log, in the format of the CRI.',
  'exec-result':
    'A probe or hook fails by its exit code: execSync resolves with it, and the output becomes the message.',
  'exec-time-out':
    'execSync rejects after timeoutMs, or resolves with an exit code other than 0: otherwise a hanging probe never fails.',
  'exec-stopped': 'execSync rejects if the container is not running.',
  'abort-signals': 'A call ends soon after its signal is aborted: otherwise abandoned calls accumulate.',
  'stop-asks-first': 'stopContainer lets a container end in its grace period, and resolves when it has exited.',
  'stop-kills': 'stopContainer kills a container after its grace period, not before; the exit code is 137.',
  'stop-shortened':
    'stopContainer with a shorter grace period overrides an earlier call, as for a pod that is deleted again.',
  'exit-observed': 'A container that ends on its own is shown as exited.',
  'exit-code': 'exitCode of an exited container is an integer, the exit code of its process.',
  'exit-reason':
    'reason is Completed for exit code 0, Error for others, or a more specific reason of the runtime (OOMKilled).',
  'exit-times':
    'finishedAtMs is in milliseconds since the epoch, at most a second before startedAtMs (containerd reads its clock for the start after a short run has ended): the crash-loop back-off is computed from both.',
  'termination-message': 'message of an exited container is the content of its terminationMessagePath.',
  'start-failure':
    'createContainer or startContainer rejects for a container that cannot be started, and it is not shown as running.',
  'start-failure-times':
    'A container that exited without having started has startedAtMs 0: the kubelet shows 1970-01-01T00:00:00Z.',
  'runs-kept': 'An exited run is shown until it is removed: it is lastState of the status.',
  'runs-removed': 'removeContainer kills and removes a run, and the pod is gone when nothing of it is left.',
  'sandbox-status':
    'A sandbox is shown with its ID, its attempt, createdAtMs, and ready, from the time that runPodSandbox resolves.',
  'pod-address': 'The addresses of a sandbox without hostNetwork are podIPs of the status.',
  'sandbox-stop': 'stopPodSandbox kills the containers in the sandbox, and the sandbox is no longer ready.',
  'sandbox-remove': 'removePodSandbox removes the sandbox and the containers in it.',
  'exit-event':
    'A runtime with events reports that a container has stopped; without the event, the agent notices it only at the next relist.',
  unsubscribe: 'No events after the subscription has ended: the agent has stopped.',
  'survives-restart':
    'IDs, hashes, attempts, times and exits stay the same when the agent is restarted; otherwise containers restart.',
} as const satisfies Readonly<Record<string, string>>;

export type RuntimeRule = keyof typeof runtimeRules;
