package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"github.com/virtual-kubelet/virtual-kubelet/node/nodeutil"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"nodes/podstatus"
)

// changedSuffix ends the name of the last pod of each node.
const changedSuffix = "-19"

// cloud has the pods of all nodes in memory. It does what MemoryCloud of memory-cloud.ts does.
type cloud struct {
	mutex sync.Mutex
	// By namespace and name.
	pods map[string]*core.Pod
	// By the name of the node.
	notify map[string]func(*core.Pod)
}

func newCloud() *cloud {
	return &cloud{pods: map[string]*core.Pod{}, notify: map[string]func(*core.Pod){}}
}

func (c *cloud) size() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return len(c.pods)
}

// changeAll changes the status of each pod, and notifies of it.
func (c *cloud) changeAll(change func(*core.Pod)) {
	for _, pod := range c.matching(func(*core.Pod) bool { return true }) {
		change(pod)
		c.put(pod)
	}
}

// put keeps the pod, which nobody may change any more, and notifies of it.
func (c *cloud) put(pod *core.Pod) {
	c.mutex.Lock()
	c.pods[keyOf(pod.Namespace, pod.Name)] = pod
	notify := c.notify[pod.Spec.NodeName]
	c.mutex.Unlock()
	if notify != nil {
		notify(pod)
	}
}

// matching returns copies of pods.
func (c *cloud) matching(matches func(*core.Pod) bool) []*core.Pod {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	selected := []*core.Pod{}
	for _, pod := range c.pods {
		if matches(pod) {
			selected = append(selected, pod.DeepCopy())
		}
	}
	return selected
}

// save writes the pods to a file, and changes one of each node, as the cloud does while nothing runs.
func (c *cloud) save(file string) error {
	pods := c.matching(func(*core.Pod) bool { return true })
	for _, pod := range pods {
		if strings.HasSuffix(pod.Name, changedSuffix) {
			restart(pod)
		}
	}
	text, err := json.Marshal(pods)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

func (c *cloud) load(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	pods := []*core.Pod{}
	if err := json.Unmarshal(text, &pods); err != nil {
		return err
	}
	for _, pod := range pods {
		podstatus.RestoreEmptyLists(pod)
		c.pods[keyOf(pod.Namespace, pod.Name)] = pod
	}
	return nil
}

func run(pod *core.Pod) { podstatus.Running(pod, meta.Now()) }

func restart(pod *core.Pod) {
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].RestartCount++
	}
}

func stop(pod *core.Pod) { podstatus.Stopped(pod, 0, meta.Now()) }

// provider is the cloud, as virtual-kubelet sees it for one node. What the benchmark does not use is not implemented.
type provider struct {
	nodeutil.Provider
	cloud    *cloud
	nodeName string
}

func (p *provider) CreatePod(_ context.Context, pod *core.Pod) error {
	p.cloud.mutex.Lock()
	defer p.cloud.mutex.Unlock()
	p.cloud.pods[keyOf(pod.Namespace, pod.Name)] = pod
	return nil
}

func (p *provider) UpdatePod(context.Context, *core.Pod) error { return nil }

func (p *provider) DeletePod(_ context.Context, pod *core.Pod) error {
	p.cloud.mutex.Lock()
	defer p.cloud.mutex.Unlock()
	delete(p.cloud.pods, keyOf(pod.Namespace, pod.Name))
	return nil
}

func (p *provider) GetPod(_ context.Context, namespace, name string) (*core.Pod, error) {
	p.cloud.mutex.Lock()
	defer p.cloud.mutex.Unlock()
	if pod, ok := p.cloud.pods[keyOf(namespace, name)]; ok {
		return pod.DeepCopy(), nil
	}
	return nil, errdefs.NotFound(name)
}

func (p *provider) GetPodStatus(ctx context.Context, namespace, name string) (*core.PodStatus, error) {
	pod, err := p.GetPod(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return &pod.Status, nil
}

func (p *provider) GetPods(context.Context) ([]*core.Pod, error) {
	return p.cloud.matching(func(pod *core.Pod) bool { return pod.Spec.NodeName == p.nodeName }), nil
}

// NotifyPods also notifies of the pods that exist: otherwise what has changed while nothing ran stays unknown.
func (p *provider) NotifyPods(ctx context.Context, notify func(*core.Pod)) {
	p.cloud.mutex.Lock()
	p.cloud.notify[p.nodeName] = notify
	p.cloud.mutex.Unlock()
	go func() {
		pods, _ := p.GetPods(ctx)
		for _, pod := range pods {
			notify(pod)
		}
	}()
}

func keyOf(namespace, name string) string { return namespace + "/" + name }
