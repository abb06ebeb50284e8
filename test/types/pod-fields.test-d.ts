/**
 * Compiles, or a type that callers write by hand lacks a field that it has in Kubernetes, by the
 * Go structs or by client-node's classes. Nothing here runs.
 */
import type * as ClientNode from '@kubernetes/client-node';
import type { kubeTypes } from '../../src/kube/objects/kube-types.ts';
import type { KubeObject } from '../../src/kube/objects/kube-object.ts';
import type { ContainerStatusInput, Pod, PodConditionInput, PodStatusInput } from '../../src/kube/objects/types.ts';

type Ours = { readonly [Type in keyof ClientNodes]: OurType<Type> };
type OurType<Type extends keyof ClientNodes> = Type extends keyof OwnTypes ? OwnTypes[Type] : KubeObject<Type>;
interface OwnTypes {
  readonly Pod: Pod;
  readonly PodStatus: PodStatusInput;
  readonly PodCondition: PodConditionInput;
  readonly ContainerStatus: ContainerStatusInput;
}

interface ClientNodes {
  readonly Pod: ClientNode.V1Pod;
  readonly ObjectMeta: ClientNode.V1ObjectMeta;
  readonly OwnerReference: ClientNode.V1OwnerReference;
  readonly PodSpec: ClientNode.V1PodSpec;
  readonly Container: ClientNode.V1Container;
  readonly EphemeralContainer: ClientNode.V1EphemeralContainer;
  readonly Probe: ClientNode.V1Probe;
  readonly ExecAction: ClientNode.V1ExecAction;
  readonly HTTPGetAction: ClientNode.V1HTTPGetAction;
  readonly HTTPHeader: ClientNode.V1HTTPHeader;
  readonly TCPSocketAction: ClientNode.V1TCPSocketAction;
  readonly GRPCAction: ClientNode.V1GRPCAction;
  readonly VolumeMount: ClientNode.V1VolumeMount;
  readonly ContainerRestartRule: ClientNode.V1ContainerRestartRule;
  readonly ContainerRestartRuleOnExitCodes: ClientNode.V1ContainerRestartRuleOnExitCodes;
  readonly ResourceRequirements: ClientNode.V1ResourceRequirements;
  readonly PodReadinessGate: ClientNode.V1PodReadinessGate;
  readonly PodStatus: ClientNode.V1PodStatus;
  readonly PodCondition: ClientNode.V1PodCondition;
  readonly ContainerStatus: ClientNode.V1ContainerStatus;
}

/** The names of fields in `name? type; name type; …`. */
type NamesIn<Text extends string> = Text extends `${infer First}; ${infer Others}`
  ? NamesIn<First> | NamesIn<Others>
  : Text extends `${infer Name} ${string}`
    ? WithoutMark<Name>
    : never;
type WithoutMark<Name extends string> = Name extends `${infer Bare}?` ? Bare : Name;

/** The fields that ours lacks, as `Type.field`. */
type MissingIn<Names extends { readonly [Type in keyof Ours]: PropertyKey }> = {
  [Type in keyof Ours]: `${Type}.${Exclude<Names[Type], keyof Ours[Type]> & string}`;
}[keyof Ours];

export const missingInGo: never[] = [] as MissingIn<{
  readonly [Type in keyof Ours]: NamesIn<(typeof kubeTypes)[Type]>;
}>[];
export const missingInClientNode: never[] = [] as MissingIn<{
  readonly [Type in keyof Ours]: keyof ClientNodes[Type];
}>[];
