// Runs virtual nodes with virtual-kubelet, as worker.ts does with this library.
//
// Usage: KUBECONFIG=FILE nodes PREFIX NODES [STATE]. Replies to each line of its standard input with a line of JSON.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"strings"
	"syscall"

	"github.com/virtual-kubelet/virtual-kubelet/node"
	"github.com/virtual-kubelet/virtual-kubelet/node/nodeutil"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// workers is the default of the command virtual-kubelet.
const workers = 10

// reply is Reply of contestant.ts.
type reply struct {
	CPUMs    float64 `json:"cpuMs"`
	RSSBytes int64   `json:"rssBytes"`
	Pods     int     `json:"pods"`
}

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	var nodes int
	var profile bytes.Buffer
	if os.Getenv("PROFILE") != "" {
		check(pprof.StartCPUProfile(&profile))
	}
	prefix := os.Args[1]
	must(fmt.Sscan(os.Args[2], &nodes))
	cloud := newCloud()
	if len(os.Args) > 3 {
		check(cloud.load(os.Args[3]))
	}
	client := newClient()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	started := make([]*nodeutil.Node, nodes)
	for i := range started {
		started[i] = newNode(client, cloud, fmt.Sprintf("%s-%d", prefix, i))
		go started[i].Run(ctx)
	}
	for _, each := range started {
		check(each.WaitReady(ctx, 0))
	}
	send(cloud)
	for input := bufio.NewReader(os.Stdin); ; send(cloud) {
		line, err := input.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		check(err)
		switch command, file, _ := strings.Cut(strings.TrimSpace(line), " "); command {
		case "run":
			cloud.changeAll(run)
		case "change":
			cloud.changeAll(restart)
		case "stop":
			cloud.changeAll(stop)
		case "save":
			check(cloud.save(file))
		case "profile":
			profile.Reset()
			check(pprof.StartCPUProfile(&profile))
		case "profiled":
			pprof.StopCPUProfile()
			check(os.WriteFile(file, profile.Bytes(), 0o644))
		}
	}
}

// newClient returns a client without limits of its own.
func newClient() *kubernetes.Clientset {
	config := must(clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG")))
	config.QPS = -1
	return must(kubernetes.NewForConfig(config))
}

func newNode(client *kubernetes.Clientset, cloud *cloud, name string) *nodeutil.Node {
	newProvider := func(config nodeutil.ProviderConfig) (nodeutil.Provider, node.NodeProvider, error) {
		config.Node.Status.Capacity = core.ResourceList{
			core.ResourceCPU:    resource.MustParse("1000"),
			core.ResourceMemory: resource.MustParse("4Ti"),
			core.ResourcePods:   resource.MustParse("500"),
		}
		config.Node.Status.Allocatable = config.Node.Status.Capacity
		return &provider{cloud: cloud, nodeName: name}, nil, nil
	}
	configure := func(config *nodeutil.NodeConfig) error {
		config.NumWorkers = workers
		return nil
	}
	return must(nodeutil.NewNode(name, newProvider, nodeutil.WithClient(client), configure,
		nodeutil.WithPodControllerConfigOverrides(withoutLimits)))
}

// withoutLimits replaces the limit of 10 statuses a second.
func withoutLimits(config *node.PodControllerConfig) error {
	config.SyncPodsFromKubernetesRateLimiter = backOff()
	config.DeletePodsFromKubernetesRateLimiter = backOff()
	config.SyncPodStatusFromProviderRateLimiter = backOff()
	return nil
}

func backOff() workqueue.TypedRateLimiter[any] {
	return workqueue.DefaultTypedItemBasedRateLimiter[any]()
}

func send(cloud *cloud) {
	var used syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	cpuMs := float64(used.Utime.Nano()+used.Stime.Nano()) / 1e6
	var size, resident int64
	must(fmt.Sscan(string(must(os.ReadFile("/proc/self/statm"))), &size, &resident))
	check(json.NewEncoder(os.Stdout).Encode(reply{cpuMs, resident * int64(os.Getpagesize()), cloud.size()}))
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
