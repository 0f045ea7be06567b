// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kwokNode is the one node that kwok plays.
const kwokNode = "kwok"

// kwok is a running kwok, which plays the kubelet of a node: pods that are bound to it become ready, pods that are being
// deleted go.
type kwok struct {
	command *exec.Cmd
	proxy   *http.Server
}

// startKwok starts kwok with the stages that it comes with. Its calls pass through the harness, which counts them as its
// own, so that what is left is the arm's.
func (b *bench) startKwok(ctx context.Context) (*kwok, error) {
	transport, err := rest.TransportFor(b.cluster.config)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(b.cluster.config.Host)
	if err != nil {
		return nil, err
	}
	stages, err := kwokStages(ctx, b.root)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	k := &kwok{proxy: &http.Server{ReadHeaderTimeout: time.Minute, Handler: &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     b.cluster.own.record(transport),
		FlushInterval: -1,                         // A watch is told at once.
		ErrorLog:      log.New(io.Discard, "", 0), // kwok is told, and tries again.
	}}}
	go func() { _ = k.proxy.Serve(listener) }() // It says that we closed it.
	if err := b.runKwok(k, "http://"+listener.Addr().String(), stages); err != nil {
		return nil, errors.Join(err, k.proxy.Close())
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: kwokNode}}
	if err := client.IgnoreAlreadyExists(b.cluster.admin.Create(ctx, node)); err != nil {
		return nil, errors.Join(err, k.stop())
	}
	return k, nil
}

func (b *bench) runKwok(k *kwok, server string, stages []string) error {
	kubeconfig := filepath.Join(b.cluster.directory, "kwok-kubeconfig")
	config := clientcmdapi.NewConfig()
	config.Clusters[kwokNode] = &clientcmdapi.Cluster{Server: server}
	config.Contexts[kwokNode] = &clientcmdapi.Context{Cluster: kwokNode}
	config.CurrentContext = kwokNode
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		return err
	}
	output, err := os.Create(filepath.Join(b.cluster.directory, "kwok.log"))
	if err != nil {
		return err
	}
	defer func() { _ = output.Close() }() // kwok has it open by then.
	k.command = exec.Command(filepath.Join(b.assets, "kwok"), "--kubeconfig="+kubeconfig, "--manage-all-nodes", "--config="+strings.Join(stages, ","))
	k.command.Stdout, k.command.Stderr = output, output
	k.command.Env = append(os.Environ(), "KWOK_WORKDIR="+b.cluster.directory)
	return k.command.Start()
}

func (k *kwok) stop() error {
	_ = k.command.Process.Kill()
	_ = k.command.Wait() // It says that we killed it.
	return k.proxy.Close()
}

// kwokStages are the files that say how kwok plays nodes and pods, from the module that it was compiled from.
func kwokStages(ctx context.Context, root string) ([]string, error) {
	module := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok")
	module.Dir = filepath.Join(root, "hack/tools/cluster")
	directory, err := module.Output()
	if err != nil {
		return nil, fmt.Errorf("looking for kwok's stages: %w", err)
	}
	var stages []string
	for _, stage := range []string{
		"node/fast/node-initialize", "node/heartbeat-with-lease/node-heartbeat-with-lease", "pod/fast/pod-ready", "pod/fast/pod-delete",
	} {
		stages = append(stages, filepath.Join(strings.TrimSpace(string(directory)), "kustomize/stage", stage+".yaml"))
	}
	return stages, nil
}

// kwokLives are the lives of the smallest grid with pods that kwok runs.
func (b *bench) kwokLives(ctx context.Context) (err error) {
	k, err := b.startKwok(ctx)
	if err != nil {
		return fmt.Errorf("starting kwok: %w", err)
	}
	defer func() { err = errors.Join(err, k.stop()) }()
	for rep := range b.sizes.reps {
		for _, a := range b.pick(operatorArm, replicaSetTuned) {
			if err := b.runSetsWithKwok(ctx, a, b.sizes.grids[0], rep); err != nil {
				return fmt.Errorf("arm %s: %w", a.name, err)
			}
		}
	}
	return nil
}

// fillWithKwok creates sets in a new namespace, and waits until kwok has made their pods ready. It returns the namespace, and how long it
// took until the last pod was created.
func (b *bench) fillWithKwok(ctx context.Context, a *arm, sets, podsPerSet int) (namespace string, took time.Duration, err error) {
	n := sets * podsPerSet
	unbound := make(chan string, n)
	namespace, w, err := b.cluster.watchedNamespace(ctx, func(pod string) { unbound <- pod })
	if err != nil {
		return "", 0, err
	}
	defer w.stop()
	ready, err := b.cluster.watchObjects(ctx, namespace, &corev1.PodList{}, isReady, nil)
	if err != nil {
		return "", 0, err
	}
	defer ready.stop()
	err = together(ctx,
		func(ctx context.Context) (err error) {
			took, err = b.fill(ctx, a, namespace, w, sets, podsPerSet)
			return err
		},
		func(ctx context.Context) error { return b.playScheduler(ctx, namespace, unbound, n) },
	)
	if err == nil {
		_, err = ready.await(ctx, n, patience)
	}
	return namespace, took, err
}

// runSetsWithKwok does the same while kwok makes pods ready and takes time to end them.
func (b *bench) runSetsWithKwok(ctx context.Context, a *arm, grid [2]int, rep int) error {
	n, what := grid[0]*grid[1], gridName(grid)+" run by kwok"
	p, err := b.startWarm(ctx, a)
	if err != nil {
		return err
	}
	defer p.kill()
	var namespace string
	var took time.Duration
	created, err := b.phase(ctx, p, func() (err error) {
		namespace, took, err = b.fillWithKwok(ctx, a, grid[0], grid[1])
		return err
	})
	if err != nil {
		return err
	}
	err = errorsOf(
		b.add("M1", what, a.name, "pods/s", rep, float64(n)/took.Seconds()),
		b.add("M2", what+" create and ready, per pod", a.name, "writes", rep, created.writes/float64(n)),
		b.add("M3", what+" create and ready, per pod", a.name, "reconciles", rep, created.reconciles/float64(n)),
	)
	if err != nil {
		return err
	}
	if grid[1] > 3 {
		if err := b.scaleDown(ctx, p, namespace, what, grid, rep); err != nil {
			return err
		}
	}
	return b.cluster.clear(ctx, namespace)
}

func isReady(obj client.Object) bool {
	return slices.ContainsFunc(obj.(*corev1.Pod).Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// playScheduler binds n pods to kwok's node as they come.
func (b *bench) playScheduler(ctx context.Context, namespace string, unbound <-chan string, n int) error {
	const workers = 4 // A scheduler binds many pods at a time too, and more would crowd out the arm.
	return inParallel(ctx, n, workers, func(ctx context.Context, _ int) error {
		select {
		case name := <-unbound:
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			return b.cluster.admin.SubResource("binding").Create(ctx, pod, &corev1.Binding{
				Target: corev1.ObjectReference{Kind: "Node", Name: kwokNode},
			})
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}
