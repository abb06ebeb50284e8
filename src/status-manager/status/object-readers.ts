/*
 * Written by `npm run generated -- --write` from the tables of status-fields.ts; do not edit.
 * A reader for each shape of table that most pods have; why they are generated: createObjectReader.
 */
import { keepUnknownFields } from './canonical-reader.ts';
import { type BindReader, isUnset, type RowsOf } from './object-reader.ts';

/** By shape; see `shapeOf`. */
export const objectReaders: ReadonlyMap<string, BindReader> = new Map<string, BindReader>([
  [
    'observedGeneration phase conditions{} message reason nominatedNodeName hostIP hostIPs{} podIP podIPs{} startTime initContainerStatuses{} containerStatuses{} qosClass ephemeralContainerStatuses{} resize resourceClaimStatuses{} extendedResourceClaimStatus{} allocatedResources resources{} nodeAllocatableResourceClaimStatuses{} volumeHealth{}',
    ([{ read: read0, empty: empty0 }, { read: read1, empty: empty1 }, { read: read2, empty: empty2 }, { read: read3, empty: empty3 }, { read: read4, empty: empty4 }, { read: read5, empty: empty5 }, { read: read6, empty: empty6 }, { read: read7, empty: empty7 }, { read: read8, empty: empty8 }, { read: read9, empty: empty9 }, { read: read10, empty: empty10 }, { read: read11, empty: empty11 }, { read: read12, empty: empty12 }, { read: read13, empty: empty13 }, { read: read14, empty: empty14 }, { read: read15, empty: empty15 }, { read: read16, empty: empty16 }, { read: read17, empty: empty17 }, { read: read18, empty: empty18 }, { read: read19, empty: empty19 }, { read: read20, empty: empty20 }, { read: read21, empty: empty21 }]: RowsOf<22>, known) => {
      return (raw, context) => {
        const value0 = read0(raw.observedGeneration, 'observedGeneration', context);
        const value1 = read1(raw.phase, 'phase', context);
        const value2 = read2(raw.conditions, 'conditions', context);
        const value3 = read3(raw.message, 'message', context);
        const value4 = read4(raw.reason, 'reason', context);
        const value5 = read5(raw.nominatedNodeName, 'nominatedNodeName', context);
        const value6 = read6(raw.hostIP, 'hostIP', context);
        const value7 = read7(raw.hostIPs, 'hostIPs', context);
        const value8 = read8(raw.podIP, 'podIP', context);
        const value9 = read9(raw.podIPs, 'podIPs', context);
        const value10 = read10(raw.startTime, 'startTime', context);
        const value11 = read11(raw.initContainerStatuses, 'initContainerStatuses', context);
        const value12 = read12(raw.containerStatuses, 'containerStatuses', context);
        const value13 = read13(raw.qosClass, 'qosClass', context);
        const value14 = read14(raw.ephemeralContainerStatuses, 'ephemeralContainerStatuses', context);
        const value15 = read15(raw.resize, 'resize', context);
        const value16 = read16(raw.resourceClaimStatuses, 'resourceClaimStatuses', context);
        const value17 = read17(raw.extendedResourceClaimStatus, 'extendedResourceClaimStatus', context);
        const value18 = read18(raw.allocatedResources, 'allocatedResources', context);
        const value19 = read19(raw.resources, 'resources', context);
        const value20 = read20(raw.nodeAllocatableResourceClaimStatuses, 'nodeAllocatableResourceClaimStatuses', context);
        const value21 = read21(raw.volumeHealth, 'volumeHealth', context);
        const result: Record<string, unknown> = {};
        if (value0 !== empty0) result.observedGeneration = value0;
        if (value1 !== empty1) result.phase = value1;
        if (value2 !== empty2) result.conditions = value2;
        if (value3 !== empty3) result.message = value3;
        if (value4 !== empty4) result.reason = value4;
        if (value5 !== empty5) result.nominatedNodeName = value5;
        if (value6 !== empty6) result.hostIP = value6;
        if (value7 !== empty7) result.hostIPs = value7;
        if (value8 !== empty8) result.podIP = value8;
        if (value9 !== empty9) result.podIPs = value9;
        if (value10 !== empty10) result.startTime = value10;
        if (value11 !== empty11) result.initContainerStatuses = value11;
        if (value12 !== empty12) result.containerStatuses = value12;
        if (value13 !== empty13) result.qosClass = value13;
        if (value14 !== empty14) result.ephemeralContainerStatuses = value14;
        if (value15 !== empty15) result.resize = value15;
        if (value16 !== empty16) result.resourceClaimStatuses = value16;
        if (value17 !== empty17) result.extendedResourceClaimStatus = value17;
        if (value18 !== empty18) result.allocatedResources = value18;
        if (value19 !== empty19) result.resources = value19;
        if (value20 !== empty20) result.nodeAllocatableResourceClaimStatuses = value20;
        if (value21 !== empty21) result.volumeHealth = value21;
        keepUnknownFields(result, raw, known, context);
        return result;
      };
    },
  ],
  [
    'type! observedGeneration status! lastProbeTime! lastTransitionTime! reason message',
    ([{ read: read0 }, { read: read1, empty: empty1 }, { read: read2 }, { read: read3 }, { read: read4 }, { read: read5, empty: empty5 }, { read: read6, empty: empty6 }]: RowsOf<7>, known) => {
      return (raw, context) => {
        const value1 = read1(raw.observedGeneration, 'observedGeneration', context);
        const value5 = read5(raw.reason, 'reason', context);
        const value6 = read6(raw.message, 'message', context);
        const result: Record<string, unknown> = {
          type: read0(raw.type, 'type', context),
          status: read2(raw.status, 'status', context),
          lastProbeTime: read3(raw.lastProbeTime, 'lastProbeTime', context),
          lastTransitionTime: read4(raw.lastTransitionTime, 'lastTransitionTime', context),
        };
        if (value1 !== empty1) result.observedGeneration = value1;
        if (value5 !== empty5) result.reason = value5;
        if (value6 !== empty6) result.message = value6;
        keepUnknownFields(result, raw, known, context);
        return result;
      };
    },
  ],
  [
    'ip!',
    ([{ read: read0 }]: RowsOf<1>, known) => {
      return (raw, context) => {
        const result: Record<string, unknown> = {
          ip: read0(raw.ip, 'ip', context),
        };
        keepUnknownFields(result, raw, known, context);
        return result;
      };
    },
  ],
  [
    'name! state{}! lastState{}! ready! restartCount! image! imageID! containerID started? allocatedResources resources{} volumeMounts{} user{} allocatedResourcesStatus{} stopSignal?',
    ([{ read: read0 }, { read: read1 }, { read: read2 }, { read: read3 }, { read: read4 }, { read: read5 }, { read: read6 }, { read: read7, empty: empty7 }, { read: read8 }, { read: read9, empty: empty9 }, { read: read10, empty: empty10 }, { read: read11, empty: empty11 }, { read: read12, empty: empty12 }, { read: read13, empty: empty13 }, { read: read14 }]: RowsOf<15>, known) => {
      return (raw, context) => {
        const value7 = read7(raw.containerID, 'containerID', context);
        const value9 = read9(raw.allocatedResources, 'allocatedResources', context);
        const value10 = read10(raw.resources, 'resources', context);
        const value11 = read11(raw.volumeMounts, 'volumeMounts', context);
        const value12 = read12(raw.user, 'user', context);
        const value13 = read13(raw.allocatedResourcesStatus, 'allocatedResourcesStatus', context);
        const result: Record<string, unknown> = {
          name: read0(raw.name, 'name', context),
          state: read1(raw.state, 'state', context),
          lastState: read2(raw.lastState, 'lastState', context),
          ready: read3(raw.ready, 'ready', context),
          restartCount: read4(raw.restartCount, 'restartCount', context),
          image: read5(raw.image, 'image', context),
          imageID: read6(raw.imageID, 'imageID', context),
        };
        if (value7 !== empty7) result.containerID = value7;
        if (!isUnset(raw.started)) result.started = read8(raw.started, 'started', context);
        if (value9 !== empty9) result.allocatedResources = value9;
        if (value10 !== empty10) result.resources = value10;
        if (value11 !== empty11) result.volumeMounts = value11;
        if (value12 !== empty12) result.user = value12;
        if (value13 !== empty13) result.allocatedResourcesStatus = value13;
        if (!isUnset(raw.stopSignal)) result.stopSignal = read14(raw.stopSignal, 'stopSignal', context);
        keepUnknownFields(result, raw, known, context);
        return result;
      };
    },
  ],
  [
    'waiting{} running{} terminated{}',
    ([{ read: read0, empty: empty0 }, { read: read1, empty: empty1 }, { read: read2, empty: empty2 }]: RowsOf<3>, known) => {
      return (raw, context) => {
        const value0 = read0(raw.waiting, 'waiting', context);
        const value1 = read1(raw.running, 'running', context);
        const value2 = read2(raw.terminated, 'terminated', context);
        const result: Record<string, unknown> = value0 !== empty0 ? { waiting: value0 } : value1 !== empty1 ? { running: value1 } : value2 !== empty2 ? { terminated: value2 } : {};
        if (value0 !== empty0) result.waiting = value0;
        if (value1 !== empty1) result.running = value1;
        if (value2 !== empty2) result.terminated = value2;
        keepUnknownFields(result, raw, known, context);
        return result;
      };
    },
  ],
  [
    'reason message',
    ([{ read: read0, empty: empty0 }, { read: read1, empty: empty1 }]: RowsOf<2>, known) => {
      return (raw, context) => {
        const value0 = read0(raw.reason, 'reason', context);
        const value1 = read1(raw.message, 'message', context);
        const result: Record<string, unknown> = {};
        if (value0 !== empty0) result.reason = value0;
        if (value1 !== empty1) result.message = value1;
        keepUnknownFields(result, raw, known, context);
        return result;
      };
    },
  ],
  [
    'startedAt!',
    ([{ read: read0 }]: RowsOf<1>, known) => {
      return (raw, context) => {
        const result: Record<string, unknown> = {
          startedAt: read0(raw.startedAt, 'startedAt', context),
        };
        keepUnknownFields(result, raw, known, context);
        return result;
      };
    },
  ],
  [
    'exitCode! signal reason message startedAt! finishedAt! containerID',
    ([{ read: read0 }, { read: read1, empty: empty1 }, { read: read2, empty: empty2 }, { read: read3, empty: empty3 }, { read: read4 }, { read: read5 }, { read: read6, empty: empty6 }]: RowsOf<7>, known) => {
      return (raw, context) => {
        const value1 = read1(raw.signal, 'signal', context);
        const value2 = read2(raw.reason, 'reason', context);
        const value3 = read3(raw.message, 'message', context);
        const value6 = read6(raw.containerID, 'containerID', context);
        const result: Record<string, unknown> = {
          exitCode: read0(raw.exitCode, 'exitCode', context),
          startedAt: read4(raw.startedAt, 'startedAt', context),
          finishedAt: read5(raw.finishedAt, 'finishedAt', context),
        };
        if (value1 !== empty1) result.signal = value1;
        if (value2 !== empty2) result.reason = value2;
        if (value3 !== empty3) result.message = value3;
        if (value6 !== empty6) result.containerID = value6;
        keepUnknownFields(result, raw, known, context);
        return result;
      };
    },
  ],
  [
    'limits requests claims{}',
    ([{ read: read0, empty: empty0 }, { read: read1, empty: empty1 }, { read: read2, empty: empty2 }]: RowsOf<3>, known) => {
      return (raw, context) => {
        const value0 = read0(raw.limits, 'limits', context);
        const value1 = read1(raw.requests, 'requests', context);
        const value2 = read2(raw.claims, 'claims', context);
        const result: Record<string, unknown> = {};
        if (value0 !== empty0) result.limits = value0;
        if (value1 !== empty1) result.requests = value1;
        if (value2 !== empty2) result.claims = value2;
        keepUnknownFields(result, raw, known, context);
        return result;
      };
    },
  ],
  [
    'name! mountPath! readOnly recursiveReadOnly? volumeStatus{}',
    ([{ read: read0 }, { read: read1 }, { read: read2, empty: empty2 }, { read: read3 }, { read: read4, empty: empty4 }]: RowsOf<5>, known) => {
      return (raw, context) => {
        const value2 = read2(raw.readOnly, 'readOnly', context);
        const value4 = read4(raw.volumeStatus, 'volumeStatus', context);
        const result: Record<string, unknown> = {
          name: read0(raw.name, 'name', context),
          mountPath: read1(raw.mountPath, 'mountPath', context),
        };
        if (value2 !== empty2) result.readOnly = value2;
        if (!isUnset(raw.recursiveReadOnly)) result.recursiveReadOnly = read3(raw.recursiveReadOnly, 'recursiveReadOnly', context);
        if (value4 !== empty4) result.volumeStatus = value4;
        keepUnknownFields(result, raw, known, context);
        return result;
      };
    },
  ],
  [
    'linux{}',
    ([{ read: read0, empty: empty0 }]: RowsOf<1>, known) => {
      return (raw, context) => {
        const value0 = read0(raw.linux, 'linux', context);
        const result: Record<string, unknown> = {};
        if (value0 !== empty0) result.linux = value0;
        keepUnknownFields(result, raw, known, context);
        return result;
      };
    },
  ],
  [
    'uid! gid! supplementalGroups',
    ([{ read: read0 }, { read: read1 }, { read: read2, empty: empty2 }]: RowsOf<3>, known) => {
      return (raw, context) => {
        const value2 = read2(raw.supplementalGroups, 'supplementalGroups', context);
        const result: Record<string, unknown> = {
          uid: read0(raw.uid, 'uid', context),
          gid: read1(raw.gid, 'gid', context),
        };
        if (value2 !== empty2) result.supplementalGroups = value2;
        keepUnknownFields(result, raw, known, context);
        return result;
      };
    },
  ],
]);
