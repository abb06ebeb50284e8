// Package podstatus makes pods as the providers for virtual-kubelet report them.
package podstatus

import (
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Creating is the status of a pod whose containers do not run yet.
func Creating(pod *core.Pod) {
	pod.Status.Phase = core.PodPending
	pod.Status.ContainerStatuses = nil
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, core.ContainerStatus{
			Name: container.Name, Image: container.Image,
			State: core.ContainerState{Waiting: &core.ContainerStateWaiting{Reason: "ContainerCreating"}},
		})
	}
}

// Running is the status of a pod that is ready.
func Running(pod *core.Pod, since meta.Time) {
	pod.Status.Phase = core.PodRunning
	pod.Status.PodIP = "10.0.0.1"
	pod.Status.PodIPs = []core.PodIP{{IP: "10.0.0.1"}}
	pod.Status.StartTime = &since
	pod.Status.Conditions = nil
	for _, kind := range []core.PodConditionType{core.PodScheduled, core.PodInitialized, core.ContainersReady, core.PodReady} {
		pod.Status.Conditions = append(pod.Status.Conditions,
			core.PodCondition{Type: kind, Status: core.ConditionTrue, LastTransitionTime: since})
	}
	pod.Status.ContainerStatuses = nil
	started := true
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, core.ContainerStatus{
			Name: container.Name, Image: container.Image, Ready: true, Started: &started,
			State: core.ContainerState{Running: &core.ContainerStateRunning{StartedAt: since}},
		})
	}
}

// Stopped changes the status of a pod that ran: its containers have ended.
func Stopped(pod *core.Pod, exitCode int32, at meta.Time) {
	reason := "Completed"
	pod.Status.Phase = core.PodSucceeded
	if exitCode != 0 {
		reason = "Error"
		pod.Status.Phase = core.PodFailed
	}
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		if condition.Type == core.ContainersReady || condition.Type == core.PodReady {
			condition.Status, condition.Reason, condition.LastTransitionTime = core.ConditionFalse, "PodCompleted", at
		}
	}
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		status.Ready, status.Started = false, nil
		status.State = core.ContainerState{Terminated: &core.ContainerStateTerminated{
			ExitCode: exitCode, Reason: reason, StartedAt: status.State.Running.StartedAt, FinishedAt: at,
		}}
	}
}

// RestoreEmptyLists adds the empty lists that JSON leaves out; virtual-kubelet, which compares them with its own, would
// update each pod.
func RestoreEmptyLists(pod *core.Pod) {
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		container.EnvFrom = []core.EnvFromSource{}
		if container.Env == nil {
			container.Env = []core.EnvVar{}
		}
	}
}
