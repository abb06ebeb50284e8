import { setTimeout as delay } from 'node:timers/promises';
import { describe, Failure, type Trial } from './trial.ts';

/** Public reports of one failure, and what is done to see it. */
export interface Scenario {
  readonly name: string;
  /** `REPOSITORY #NUMBER`; none if nobody has reported it. */
  readonly reports: readonly string[];
  /** What is done, and expected. */
  readonly text: string;
  /** Of this library, for the same: files below test/, and titles. */
  readonly tests: readonly (readonly [file: string, title: string])[];
  /** Rejects with a Failure. Absent if only the tests show it. */
  readonly run?: (trial: Trial) => Promise<void>;
  /** Why virtual-kubelet is not asked. */
  readonly notAsked?: string;
}

const restartPolicyNever = { restartPolicy: 'Never' };
const mergePatch = 'application/strategic-merge-patch+json';

type TestReference = Scenario['tests'][number];

const sameName: TestReference = [
  'virtual-nodes/deletion.test.ts',
  'and created again under its name is another pod (virtual-kubelet #867, #907, #1295)',
];
const gracefulDeletion: TestReference = [
  'virtual-nodes/deletion.test.ts',
  'is deleted in the cloud although it fails for a while, and stays Terminating only until then (virtual-kubelet #587, liqo #598)',
];
const deletionWhileCreated: TestReference = [
  'virtual-nodes/deletion.test.ts',
  'while it is created does not stay in the cloud (liqo #604)',
];
const permanentError: TestReference = [
  'virtual-nodes/errors.test.ts',
  'for good fails the pod with its reason and message, and is not made again (virtual-kubelet #1310, interLink #427)',
];

export const scenarios: readonly Scenario[] = [
  {
    name: 'crash',
    reports: ['virtual-kubelet #762'],
    text: 'While the API server is away, a pod ends with exit code 7; the process is killed, the cloud forgets the pod, and the process starts again. The pod fails, and is not created a second time.',
    tests: [
      ['virtual-nodes/restart.test.ts', 'loses no status that was not sent before a crash (virtual-kubelet #762)'],
    ],
    async run(trial) {
      const { cloud, api, process } = trial;
      const uid = await trial.runPod('web', restartPolicyNever);
      cloud.rememberMs = 8000;
      api.isDown = true;
      cloud.stop(uid, 7);
      await delay(9000);
      await process.kill();
      api.isDown = false;
      await process.start();
      await trial.becomes(60, async () => {
        if (cloud.count('createPod', 'web') > 1) throw new Failure('created a second time');
        const status = await trial.status('web');
        return status.phase === 'Failed' ? undefined : describe(status);
      });
    },
  },
  {
    name: 'same-name',
    reports: ['virtual-kubelet #867', 'virtual-kubelet #907', 'virtual-kubelet #1295'],
    text: 'A pod is deleted by force and created again with its name, while the cloud takes 8 s to stop the first one. The second one runs, and the first one does not.',
    tests: [sameName],
    async run(trial) {
      trial.cloud.stopMs = 8000;
      const first = await trial.runPod('web');
      await trial.deletePod('web', 0);
      const second = await trial.createPod('web');
      await replaces(trial, first, second);
      await trial.becomesReady('web');
    },
  },
  {
    name: 'same-name-unseen',
    reports: ['virtual-kubelet #867'],
    text: 'The same while the API server is away for 5 s, so that the process sees only the second pod.',
    tests: [sameName],
    async run(trial) {
      const first = await trial.runPod('web');
      trial.api.isDown = true;
      await trial.deletePod('web', 0);
      const second = await trial.createPod('web');
      await delay(5000);
      trial.api.isDown = false;
      await replaces(trial, first, second);
    },
  },
  {
    name: 'stateful-set',
    reports: ['virtual-kubelet #907'],
    text: 'A pod is deleted, and created again with its name as soon as it is gone from the API server, as by a StatefulSet; its grace period is 10 s, of which the cloud needs 3 s. The second one runs, and stays.',
    tests: [sameName],
    async run(trial) {
      trial.cloud.stopMs = 3000;
      await trial.runPod('web', { terminationGracePeriodSeconds: 10 });
      await trial.deletePod('web');
      await trial.becomesGone('web', 40);
      const second = await trial.createPod('web');
      await trial.becomesReady('web', 40);
      await trial.stays(20, async () => {
        if (!trial.cloud.pods.some(({ uid }) => uid === second)) return 'the second pod is not in the cloud';
        const pod = await trial.pod('web');
        return pod?.metadata?.uid === second ? undefined : 'the second pod is gone from the API server';
      });
    },
  },
  {
    name: 'other-writer',
    reports: ['virtual-kubelet #899'],
    text: 'Somebody writes Ready=False to the status of a running pod, as the node controller does. It is ready again within 60 s.',
    tests: [
      [
        'virtual-nodes/errors.test.ts',
        'a status that another writer has changed is written again (virtual-kubelet #899)',
      ],
    ],
    async run(trial) {
      await trial.runPod('web');
      await delay(6000);
      await trial.patchPod('web', { status: { conditions: [{ type: 'Ready', status: 'False' }] } }, '/status');
      await trial.becomesReady('web', 60);
    },
  },
  {
    name: 'outage',
    reports: ['virtual-kubelet #712'],
    text: 'A pod ends with exit code 3 while the API server is away for 20 s. Its end is shown within 60 s after that.',
    tests: [
      ['virtual-nodes/errors.test.ts', 'the end of a pod is kept, and written when it is back (virtual-kubelet #712)'],
    ],
    async run(trial) {
      const uid = await trial.runPod('web', restartPolicyNever);
      trial.cloud.rememberMs = 120_000;
      trial.api.isDown = true;
      trial.cloud.stop(uid, 3);
      await delay(20_000);
      trial.api.isDown = false;
      await trial.becomes(60, async () => {
        const status = await trial.status('web');
        return describe(status).includes('exit code 3') ? undefined : describe(status);
      });
    },
  },
  {
    name: 'final-status',
    reports: ['virtual-kubelet #684', 'virtual-kubelet #751'],
    text: 'A pod ends with exit code 9 inside deletePod. Its last status has the exit code.',
    tests: [
      [
        'virtual-nodes/deletion.test.ts',
        'keeps the exit code that is reported inside deletePod (virtual-kubelet #684, #751)',
      ],
    ],
    async run(trial) {
      Object.assign(trial.cloud, { stopMs: 0, deletedExitCode: 9 });
      await trial.runPod('web', restartPolicyNever);
      let last = '';
      const watch = await trial.watchPods();
      await trial.deletePod('web');
      for await (const { type, object } of watch) {
        if (type !== 'DELETED') last = describe(object.status);
        else break;
      }
      watch.close();
      if (!last.includes('exit code 9')) throw new Failure(`the last status is ${last}`);
    },
  },
  {
    name: 'node-not-ready',
    reports: ['virtual-kubelet #956'],
    text: 'Somebody writes Ready=False to the Node, between a read and a write of the process if it does both within 70 s. It is ready again within 90 s.',
    tests: [
      [
        'virtual-nodes/nodes.test.ts',
        'that somebody marks as not ready are ready again after 10 s (virtual-kubelet #956)',
      ],
    ],
    async run(trial) {
      const path = `/api/v1/nodes/${trial.nodeName}/status`;
      const status = { conditions: [{ type: 'Ready', status: 'False', reason: 'Somebody' }] };
      let isWritten = false;
      const write = async (): Promise<void> => {
        if (isWritten) return;
        isWritten = true;
        await trial.request('PATCH', path, { status }, mergePatch);
      };
      trial.api.onRequest = async (request) => {
        if (/^(PATCH|PUT) .*\/nodes\/[^/]+\/status/.test(request)) await write();
      };
      for (let i = 0; i < 70 && !isWritten; i++) await delay(1000);
      await write();
      await trial.becomes(90, async () => ((await trial.isNodeReady()) ? undefined : 'the Node is not ready'));
    },
  },
  {
    name: 'node-deleted',
    reports: [],
    text: 'Somebody deletes the Node. It is registered again within 15 s.',
    tests: [
      [
        'virtual-nodes/nodes.test.ts',
        'that somebody deletes are registered again within 15 s, and their pods keep running',
      ],
    ],
    async run(trial) {
      await delay(5000);
      await trial.request('DELETE', `/api/v1/nodes/${trial.nodeName}`);
      await trial.becomes(15, async () => ((await trial.isNodeReady()) ? undefined : 'there is no ready Node'));
    },
  },
  {
    name: 'grace-period',
    reports: ['virtual-kubelet #587'],
    text: 'A pod is deleted that the cloud needs 10 s to stop, of a grace period of 60 s. It stays on the API server for as long as it runs in the cloud.',
    tests: [gracefulDeletion],
    async run(trial) {
      trial.cloud.stopMs = 10_000;
      await trial.runPod('web');
      await trial.deletePod('web');
      await leavesAfterItsEnd(trial);
    },
  },
  {
    name: 'grace-period-incomplete-list',
    reports: [],
    text: 'The same, and the first read of the cloud after the deletion lacks the pod.',
    tests: [
      [
        'virtual-nodes/deletion.test.ts',
        'keeps its object until three lists in a row have not had it, which take three seconds, not three periods',
      ],
    ],
    async run(trial) {
      trial.cloud.stopMs = 15_000;
      await trial.runPod('web');
      await trial.deletePod('web');
      await trial.becomes(20, () =>
        trial.cloud.count('deletePod', 'web') > 0 ? undefined : 'not deleted in the cloud',
      );
      hideFromReads(trial, 0);
      await leavesAfterItsEnd(trial);
    },
  },
  {
    name: 'terminating',
    reports: ['liqo #598'],
    text: 'A pod with a grace period of 120 s is deleted. The cloud refuses deletePod for 10 s, and then needs 1 s. The pod is gone within 60 s, also from the cloud.',
    tests: [gracefulDeletion],
    async run(trial) {
      trial.cloud.stopMs = 1000;
      await trial.runPod('web', { terminationGracePeriodSeconds: 120 });
      const refusedUntil = Date.now() + 10_000;
      trial.cloud.react = (call) => (call === 'deletePod' && Date.now() < refusedUntil ? 503 : undefined);
      await trial.deletePod('web');
      await trial.becomesFree('web', 60);
      await trial.becomesGone('web', 60);
    },
  },
  {
    name: 'pending',
    reports: ['liqo #604'],
    text: 'A pod that the cloud does not start is deleted with a grace period of 120 s. It is gone within 30 s, also from the cloud.',
    tests: [deletionWhileCreated],
    async run(trial) {
      trial.cloud.startMs = 600_000;
      await trial.createPod('web', { terminationGracePeriodSeconds: 120 });
      await delay(6000);
      await trial.deletePod('web');
      await trial.becomesFree('web', 30);
      await trial.becomesGone('web', 30);
    },
  },
  {
    name: 'force-delete',
    reports: ['tensile-kube #48'],
    text: 'A running pod is deleted by force, and the cloud refuses the first deletePod. It is gone from the cloud within 60 s.',
    tests: [['virtual-nodes/deletion.test.ts', 'by force does not stay in the cloud (tensile-kube #48)']],
    async run(trial) {
      await trial.runPod('web');
      refuseOnce(trial, 'deletePod');
      await trial.deletePod('web', 0);
      await trial.becomesFree('web', 60);
    },
  },
  {
    name: 'force-delete-while-down',
    reports: ['tensile-kube #48'],
    text: 'The same while the process is down. It is gone from the cloud within 60 s after the start.',
    tests: [['virtual-nodes/restart.test.ts', 'frees a pod that was deleted by force meanwhile (tensile-kube #48)']],
    async run(trial) {
      await trial.runPod('web');
      await trial.process.kill();
      await trial.deletePod('web', 0);
      refuseOnce(trial, 'deletePod');
      await trial.process.start();
      await trial.becomesFree('web', 60);
    },
  },
  {
    name: 'passing-error',
    reports: ['azure-aci #135'],
    text: 'The cloud answers createPod with 503 for 15 s. A pod with restartPolicy Never, and one with Always, run within 60 s after that.',
    tests: [
      [
        'virtual-nodes/errors.test.ts',
        'for a while is made again, and the status of the pod says why it waits (azure-aci #135)',
      ],
    ],
    async run(trial) {
      trial.cloud.react = (call) => (call === 'createPod' ? 503 : undefined);
      await trial.createPod('restart-policy-always');
      await trial.createPod('restart-policy-never', restartPolicyNever);
      await delay(15_000);
      trial.cloud.react = () => undefined;
      await trial.becomesReady('restart-policy-always', 60);
      await trial.becomesReady('restart-policy-never', 30);
    },
  },
  {
    name: 'permanent-error',
    reports: ['interLink #427'],
    text: 'The cloud answers createPod with 400, which the providers report as permanent. A pod with restartPolicy Always fails within 30 s, after one try.',
    tests: [permanentError],
    async run(trial) {
      trial.cloud.react = (call) => (call === 'createPod' ? 400 : undefined);
      await trial.createPod('web');
      await trial.becomes(30, async () => {
        const status = await trial.status('web');
        const seen = `${describe(status)}, ${trial.cloud.count('createPod', 'web')} tries`;
        return status.phase === 'Failed' ? undefined : seen;
      });
      await delay(15_000);
      const tries = trial.cloud.count('createPod', 'web');
      if (tries > 1) throw new Failure(`${tries} tries`);
    },
  },
  {
    name: 'unreliable-cloud',
    reports: [],
    text: 'Two of five calls of the cloud fail with 503, reads too. Ten pods run within 60 s; they are deleted, and are gone within 90 s, also from the cloud.',
    tests: [['virtual-nodes/errors.test.ts', 'pods are created once, run and go']],
    async run(trial) {
      let calls = 0;
      trial.cloud.react = () => (++calls % 5 < 2 ? 503 : undefined);
      const names = Array.from({ length: 10 }, (_, i) => `web-${i}`);
      for (const name of names) await trial.createPod(name);
      for (const name of names) await trial.becomesReady(name, 60);
      for (const name of names) await trial.deletePod(name);
      for (const name of names) {
        await trial.becomesFree(name, 60);
        await trial.becomesGone(name, 90);
      }
    },
  },
  {
    name: 'retries',
    reports: ['virtual-kubelet #1310'],
    text: 'What decides how often and for how long a failed call is repeated: the provider, by its error.',
    tests: [permanentError],
    notAsked:
      'it stops after 20 tries, which take longer than an hour; from v1.14 on, NewNode can be given another limit',
  },
  {
    name: 'restart',
    reports: ['liqo #2748', 'interLink #200', 'interLink #239'],
    text: 'The process of a running pod is killed and started again. The pod keeps running, and the cloud is asked neither to create nor to delete it.',
    tests: [
      [
        'virtual-nodes/restart.test.ts',
        'creates, deletes and writes nothing for pods that have not changed (liqo #2748, interLink #200, #239)',
      ],
    ],
    async run(trial) {
      await trial.runPod('web');
      await trial.process.kill();
      await trial.process.start();
      await staysUntouched(trial);
    },
  },
  {
    name: 'restart-failing-list',
    reports: ['liqo #2748'],
    text: 'The same, and the cloud answers reads with 503 for 10 s from the first one on.',
    tests: [
      ['virtual-nodes/restart.test.ts', 'waits for the first list of the cloud before it creates a pod (liqo #2748)'],
    ],
    async run(trial) {
      await trial.runPod('web');
      await trial.process.kill();
      let backMs: number | undefined;
      trial.cloud.react = (call) => {
        if (call !== 'listPods') return undefined;
        backMs ??= Date.now() + 10_000;
        return Date.now() < backMs ? 503 : undefined;
      };
      await trial.process.start();
      await staysUntouched(trial);
    },
  },
  {
    name: 'restart-incomplete-list',
    reports: ['liqo #2748'],
    text: 'The same, and reads of the cloud lack the pod for a second from the first one on.',
    tests: [
      [
        'virtual-nodes/restart.test.ts',
        'with a first list that is incomplete changes nothing of a pod that ran (liqo #2748)',
      ],
    ],
    async run(trial) {
      await trial.runPod('web');
      await trial.process.kill();
      hideFromReads(trial, 1000);
      await trial.process.start();
      await staysUntouched(trial);
    },
  },
  {
    name: 'incomplete-list',
    reports: [],
    text: 'One read of the cloud lacks a running pod. It keeps running.',
    tests: [['virtual-nodes/lost-pods.test.ts', 'once, or in two lists in a row, is not lost']],
    async run(trial) {
      await trial.runPod('web');
      await delay(6000);
      hideFromReads(trial, 0);
      await staysUntouched(trial);
    },
  },
  {
    name: 'watches',
    reports: ['virtual-kubelet #210'],
    text: 'A pod runs. Neither all Secrets nor all ConfigMaps of the cluster are read.',
    tests: [
      [
        'virtual-nodes/nodes.test.ts',
        'read Secrets and ConfigMaps one by one, never all of the cluster (virtual-kubelet #210)',
      ],
    ],
    async run(trial) {
      await trial.runPod('web');
      const read = ['secrets', 'configmaps'].filter((resource) =>
        trial.api.requests.some((request) => request.startsWith(`GET /api/v1/${resource}?`)),
      );
      if (read.length > 0) throw new Failure(`watches all ${read.join(' and ')}`);
    },
  },
  {
    name: 'labels',
    reports: [],
    text: 'The labels of a running pod change. The cloud has them within 20 s.',
    tests: [
      [
        'virtual-nodes/pod-life.test.ts',
        'changed labels, annotations and images are passed on once, with what the cloud was told before',
      ],
    ],
    async run(trial) {
      await trial.runPod('web');
      await trial.patchPod('web', { metadata: { labels: { version: '2' } } });
      await hasNewLabels(trial);
    },
  },
  {
    name: 'labels-while-down',
    reports: [],
    text: 'The same while the process is down. The cloud has them within 20 s after the start.',
    tests: [
      [
        'virtual-nodes/restart.test.ts',
        'passes on what was changed while no process ran, once; the cloud reports podHash',
      ],
    ],
    async run(trial) {
      await trial.runPod('web');
      await trial.process.kill();
      await trial.patchPod('web', { metadata: { labels: { version: '2' } } });
      await trial.process.start();
      await hasNewLabels(trial);
    },
  },
  {
    name: 'deleted-while-created',
    reports: [],
    text: 'The cloud answers createPod after 8 s; the pod is deleted by force meanwhile. It is gone from the cloud within 30 s after that.',
    tests: [deletionWhileCreated],
    async run(trial) {
      trial.cloud.createAnswerMs = 8000;
      await trial.createPod('web');
      await trial.becomes(10, () => (trial.cloud.pods.length > 0 ? undefined : 'not created'));
      await trial.deletePod('web', 0);
      await trial.becomesFree('web', 38);
    },
  },
  {
    name: 'tokens',
    reports: ['azure-aci #543', 'azure-aci #91'],
    text: 'A pod has a projected volume with a token of its ServiceAccount. The provider gets a token that the API server accepts.',
    tests: [
      [
        'virtual-nodes/materials/pod-materials-reader.test.ts',
        'has a token that the API server accepts as the ServiceAccount, bound to the pod (azure-aci #543, #91)',
      ],
    ],
    notAsked: 'it passes volumes on as they are in the spec: each provider has to read them itself',
    async run(trial) {
      await trial.request('POST', `/api/v1/namespaces/${trial.nodeName}/serviceaccounts`, {
        metadata: { name: 'robot' },
      });
      const sources = [{ serviceAccountToken: { path: 'token', expirationSeconds: 3600 } }];
      await trial.runPod('web', {
        serviceAccountName: 'robot',
        volumes: [{ name: 'identity', projected: { sources } }],
        containers: [
          { name: 'app', image: 'app:1', volumeMounts: [{ name: 'identity', mountPath: '/var/run/identity' }] },
        ],
      });
      const token = trial.cloud.pods[0]?.files?.['token'];
      const review = await trial.request('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token } });
      if (review.status.authenticated !== true) throw new Failure('the token is not accepted');
    },
  },
  {
    name: 'logs',
    reports: ['virtual-kubelet #1142', 'interLink #447'],
    text: '`kubectl logs` of the pods of several nodes in one process, on one port, with a certificate of the cluster.',
    tests: [
      [
        'virtual-nodes/on-servers.test.ts',
        'serve logs, exec, attach and port-forward of all nodes on one port, over its proxy to the Node (virtual-kubelet #1142)',
      ],
      ['virtual-nodes/virtual-kubelet.test.ts', 'virtual-kubelet #1142, interLink #447: one port for all nodes'],
    ],
    notAsked: 'its command has one node, and takes certificates from files',
  },
  {
    name: 'replicas',
    reports: ['virtual-kubelet #875', 'virtual-kubelet #981', 'node-cli #32'],
    text: 'Several processes have the same nodes. Each node runs in one of them, and is taken over; see `npm run chaos -- replicas`.',
    tests: [
      [
        'virtual-nodes/replicas.test.ts',
        'each run in one of them; those of one that ends are taken over, with a higher epoch, and no pod is created again (virtual-kubelet #875, #981, node-cli #32)',
      ],
    ],
    notAsked: 'it has no replicas; leader election is left to those who embed it',
  },
];

/** The next read of the cloud, and those until so much later, lack the pod. */
function hideFromReads({ cloud }: Trial, ms: number): void {
  let endMs: number | undefined;
  cloud.hidden.add('web');
  cloud.react = (call) => {
    if (call !== 'listPods') return undefined;
    if (endMs !== undefined && Date.now() >= endMs) cloud.hidden.clear();
    endMs ??= Date.now() + ms;
    return undefined;
  };
}

/** The second pod runs, and the first one, which had the same name, does not. */
async function replaces(trial: Trial, first: string, second: string): Promise<void> {
  await trial.becomes(60, async () => {
    const uids = trial.cloud.pods.map(({ uid }) => uid);
    if (!uids.includes(second)) {
      return `the second pod is not in the cloud, and shown as ${describe(await trial.status('web'))},`;
    }
    return uids.includes(first) ? 'the first pod still runs in the cloud' : undefined;
  });
  await trial.becomesReady('web');
}

function refuseOnce(trial: Trial, refused: string): void {
  let isRefused = false;
  trial.cloud.react = (call) => {
    if (call !== refused || isRefused) return undefined;
    isRefused = true;
    return 503;
  };
}

/** The grace period of the pod is 60 s, which virtual-kubelet waits. */
async function leavesAfterItsEnd(trial: Trial): Promise<void> {
  await trial.becomes(90, async () => {
    if ((await trial.pod('web')) !== undefined) return 'still on the API server';
    if (trial.cloud.pods.length > 0) throw new Failure('gone from the API server while it runs in the cloud');
    return undefined;
  });
}

/** For 30 s, which polls need to see something. */
async function staysUntouched(trial: Trial): Promise<void> {
  await trial.stays(30, async () => {
    if (trial.cloud.count('createPod', 'web') > 1) return 'asked to create the pod again';
    if (trial.cloud.count('deletePod', 'web') > 0) return 'asked to delete the pod';
    const status = await trial.status('web');
    return status.phase === 'Running' ? undefined : describe(status);
  });
}

async function hasNewLabels(trial: Trial): Promise<void> {
  await trial.becomes(20, () =>
    trial.cloud.pods[0]?.labels?.['version'] === '2' ? undefined : 'the cloud has the old labels',
  );
}
