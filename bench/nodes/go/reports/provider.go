package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"github.com/virtual-kubelet/virtual-kubelet/node/nodeutil"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"nodes/podstatus"
)

// cloudPod is CloudPod of test/virtual-kubelet/cloud.ts.
type cloudPod struct {
	UID         string            `json:"uid,omitempty"`
	Namespace   string            `json:"namespace"`
	Name        string            `json:"name"`
	NodeName    string            `json:"nodeName"`
	Labels      map[string]string `json:"labels,omitempty"`
	Pod         *core.Pod         `json:"pod"`
	CreatedAtMs int64             `json:"createdAtMs,omitempty"`
	State       string            `json:"state,omitempty"`
	StartedAtMs int64             `json:"startedAtMs,omitempty"`
	StoppedAtMs int64             `json:"stoppedAtMs,omitempty"`
	ExitCode    int32             `json:"exitCode,omitempty"`
}

// asPod returns the pod that was asked for, with its status.
func (p cloudPod) asPod() *core.Pod {
	pod := p.Pod
	podstatus.RestoreEmptyLists(pod)
	pod.Status = core.PodStatus{}
	if p.State == "creating" {
		podstatus.Creating(pod)
		return pod
	}
	podstatus.Running(pod, timeOf(max(p.StartedAtMs, p.CreatedAtMs)))
	if p.State == "stopped" {
		podstatus.Stopped(pod, p.ExitCode, timeOf(p.StoppedAtMs))
	}
	return pod
}

// timeOf has full seconds, as the API server.
func timeOf(ms int64) meta.Time { return meta.Unix(ms/1000, 0) }

// provider is the cloud for one node. It is asked for statuses again and again.
type provider struct {
	nodeutil.Provider
	cloud    string
	nodeName string
}

func (p *provider) CreatePod(ctx context.Context, pod *core.Pod) error {
	return p.ask(ctx, "POST", pod)
}

// UpdatePod creates the pod if the cloud has only another one with its name.
func (p *provider) UpdatePod(ctx context.Context, pod *core.Pod) error {
	err := p.ask(ctx, "PUT", pod)
	if errdefs.IsNotFound(err) {
		return p.ask(ctx, "POST", pod)
	}
	return err
}

func (p *provider) DeletePod(ctx context.Context, pod *core.Pod) error {
	return p.call(ctx, "DELETE", "/pods/"+string(pod.UID), nil, nil)
}

// GetPod returns the newest pod with the name.
func (p *provider) GetPod(ctx context.Context, namespace, name string) (*core.Pod, error) {
	pods, err := p.list(ctx)
	if err != nil {
		return nil, err
	}
	var newest *cloudPod
	for i, pod := range pods {
		if pod.Namespace == namespace && pod.Name == name && (newest == nil || pod.CreatedAtMs > newest.CreatedAtMs) {
			newest = &pods[i]
		}
	}
	if newest == nil {
		return nil, errdefs.NotFound(name)
	}
	return newest.asPod(), nil
}

func (p *provider) GetPodStatus(ctx context.Context, namespace, name string) (*core.PodStatus, error) {
	pod, err := p.GetPod(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return &pod.Status, nil
}

func (p *provider) GetPods(ctx context.Context) ([]*core.Pod, error) {
	listed, err := p.list(ctx)
	if err != nil {
		return nil, err
	}
	pods := []*core.Pod{}
	for _, pod := range listed {
		pods = append(pods, pod.asPod())
	}
	return pods, nil
}

func (p *provider) list(ctx context.Context) ([]cloudPod, error) {
	var all, own []cloudPod
	if err := p.call(ctx, "GET", "/pods", nil, &all); err != nil {
		return nil, err
	}
	for _, pod := range all {
		if pod.NodeName == p.nodeName {
			own = append(own, pod)
		}
	}
	return own, nil
}

func (p *provider) ask(ctx context.Context, method string, pod *core.Pod) error {
	return p.call(ctx, method, "/pods/"+string(pod.UID), cloudPod{
		Namespace: pod.Namespace, Name: pod.Name, NodeName: p.nodeName, Labels: pod.Labels, Pod: pod,
	}, nil)
}

func (p *provider) call(ctx context.Context, method, path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, p.cloud+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotFound:
		return errdefs.NotFound(path)
	case response.StatusCode == http.StatusBadRequest:
		return errdefs.InvalidInput("the cloud answers 400")
	case response.StatusCode >= 300:
		return fmt.Errorf("the cloud answers %d", response.StatusCode)
	case answer == nil:
		return nil
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

// notifier is the same provider, with notifications: of the pods that exist when it starts, and of each change.
type notifier struct{ *provider }

func (n *notifier) NotifyPods(ctx context.Context, notify func(*core.Pod)) {
	go func() {
		for ctx.Err() == nil {
			n.readEvents(ctx, notify)
			time.Sleep(time.Second)
		}
	}()
}

func (n *notifier) readEvents(ctx context.Context, notify func(*core.Pod)) {
	request, err := http.NewRequestWithContext(ctx, "GET", n.cloud+"/events", nil)
	check(err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return
	}
	defer response.Body.Close()
	pods, _ := n.GetPods(ctx)
	for _, pod := range pods {
		notify(pod)
	}
	for events := json.NewDecoder(response.Body); ; {
		var pod cloudPod
		if events.Decode(&pod) != nil {
			return
		}
		if pod.NodeName == n.nodeName {
			notify(pod.asPod())
		}
	}
}
