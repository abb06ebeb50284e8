// Runs one virtual node with virtual-kubelet, as nodes-process.ts of test/virtual-kubelet does with this library.
//
// Usage: KUBECONFIG=FILE reports NODE CLOUD polls|notifies. It prints a line when the node is ready, and ends
// with its standard input.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/virtual-kubelet/virtual-kubelet/node"
	"github.com/virtual-kubelet/virtual-kubelet/node/nodeutil"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// workers is the default of the command virtual-kubelet, as all that is not set here.
const workers = 10

func main() {
	name, cloud, mode := os.Args[1], os.Args[2], os.Args[3]
	newProvider := func(config nodeutil.ProviderConfig) (nodeutil.Provider, node.NodeProvider, error) {
		config.Node.Status.Capacity = core.ResourceList{
			core.ResourceCPU:    resource.MustParse("1000"),
			core.ResourceMemory: resource.MustParse("4Ti"),
			core.ResourcePods:   resource.MustParse("500"),
		}
		config.Node.Status.Allocatable = config.Node.Status.Capacity
		polled := &provider{cloud: cloud, nodeName: name}
		if mode == "notifies" {
			return &notifier{polled}, nil, nil
		}
		return polled, nil, nil
	}
	client, err := nodeutil.ClientsetFromEnv(os.Getenv("KUBECONFIG"))
	check(err)
	started, err := nodeutil.NewNode(name, newProvider, nodeutil.WithClient(client), func(config *nodeutil.NodeConfig) error {
		config.NumWorkers = workers
		return nil
	})
	check(err)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	ctx := context.Background()
	go started.Run(ctx)
	check(started.WaitReady(ctx, 0))
	fmt.Println("ready")
	<-started.Done()
	check(started.Err())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
