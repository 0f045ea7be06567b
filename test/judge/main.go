// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

const operatorNamespace = "podset-operator-system"

type options struct {
	runs, wave     int
	seed           uint64
	image, counter string
	lab, journal   string
	settle, quiet  time.Duration
	atMost         time.Duration
	stopAtFirst    bool
	cluster        *rest.Config
}

func main() {
	var o options
	flag.IntVar(&o.runs, "runs", 40, "runs of each adapter")
	flag.IntVar(&o.wave, "wave", 20, "runs of each adapter that are due at the same minute")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the commands, the users, and the faults")
	flag.StringVar(&o.image, "image", "", "image of the command, see package command")
	flag.StringVar(&o.counter, "counter", "10.13.0.1:7070", "address of this machine that pods can reach, and a free port: HOST:PORT")
	flag.StringVar(&o.lab, "lab", "", "script of the lab, if the cluster is the lab on this machine")
	flag.StringVar(&o.journal, "journal", "judge.log", "file for the journal")
	flag.DurationVar(&o.atMost, "at-most", time.Hour, "how long waves begin, also if fewer runs were made")
	flag.DurationVar(&o.settle, "settle", 4*time.Minute, "how long runs may take to end after the last fault")
	flag.DurationVar(&o.quiet, "quiet", 30*time.Second, "how long the commands are observed after all runs are done")
	flag.BoolVar(&o.stopAtFirst, "stop", false, "stop at the first violation of an At")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		stop()
		os.Exit(1)
	}
}

// run runs all waves, and returns an error if an At violates a rule.
func (o *options) run(ctx context.Context) error {
	c, nemeses, err := o.prepare(ctx)
	if err != nil {
		return err
	}
	defer c.remove(context.WithoutCancel(ctx), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}})
	listener, err := net.Listen("tcp", ":"+o.counter[strings.LastIndex(o.counter, ":")+1:])
	if err != nil {
		return err
	}
	defer listener.Close()
	go (&counter{journal: c.journal}).serve(listener)
	observing, stopObserving := context.WithCancel(ctx)
	defer stopObserving()
	if err := c.watch(observing, o.cluster); err != nil {
		return err
	}
	go c.observe(observing)

	hunting, stopHunting := context.WithCancel(ctx)
	defer stopHunting()
	var hunt sync.WaitGroup
	for _, n := range nemeses {
		hunt.Go(func() { n.run(hunting) })
	}
	started := time.Now()
	stopped := o.waves(ctx, c)
	took := time.Since(started).Round(time.Second)
	stopHunting()
	hunt.Wait()
	if !stopped {
		c.settle(ctx, o.settle, o.quiet)
	}
	verdicts := c.verdicts(!stopped && ctx.Err() == nil)
	fmt.Printf("\nseed %d, %s of faults, %s\n\n", o.seed, took, started.UTC().Format(time.DateOnly))
	c.print(verdicts)
	if violatesAt(verdicts) {
		return errors.New("an At violates a rule")
	}
	return ctx.Err()
}

func violatesAt(verdicts map[*run][]violation) bool {
	for r := range verdicts {
		if strings.HasPrefix(r.adapter.name, "at") {
			return true
		}
	}
	return false
}

// prepare connects to the cluster, and makes an empty namespace. One nemesis is for the operator, another for the rest of the cluster.
func (o *options) prepare(ctx context.Context) (*court, []*nemesis, error) {
	file, err := os.Create(o.journal)
	if err != nil {
		return nil, nil, err
	}
	utilruntime.Must(cnatv1alpha1.AddToScheme(scheme.Scheme))
	if o.cluster, err = config.GetConfig(); err != nil {
		return nil, nil, err
	}
	o.cluster.QPS, o.cluster.Timeout = -1, 10*time.Second
	campaign := strconv.FormatInt(time.Now().Unix(), 36)
	c := &court{namespace: "judge-" + campaign, campaign: campaign, image: o.image, counter: o.counter, onLab: o.lab != "", pods: map[string]string{}, start: make(chan struct{}, 1)}
	c.journal = &journal{file: file, events: map[string][]event{}}
	if c.client, err = client.New(o.cluster, client.Options{Scheme: scheme.Scheme}); err != nil {
		return nil, nil, err
	}
	ofManagers, ofCluster := c.ofManagers(), c.ofCluster()
	if o.lab != "" {
		l := &lab{script: o.lab, home: filepath.Dir(os.Getenv("KUBECONFIG")), court: c}
		ofManagers, ofCluster = append(ofManagers, l.ofManagers()...), append(ofCluster, l.ofCluster()...)
	}
	nemeses := []*nemesis{
		{court: c, faults: ofManagers, random: rand.New(rand.NewPCG(o.seed, 1)), often: 12 * time.Second, sharp: true},
		{court: c, faults: ofCluster, random: rand.New(rand.NewPCG(o.seed, 2)), often: 30 * time.Second},
	}
	return c, nemeses, c.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}})
}

// waves begins a wave each minute, or later if too many runs of earlier waves are not done, and prints a line for each. It returns true if
// it has stopped at a violation.
func (o *options) waves(ctx context.Context, c *court) bool {
	random, last := rand.New(rand.NewPCG(o.seed, 0)), time.Now().Add(o.atMost)
	for number, left := 0, o.runs; left > 0 && time.Now().Before(last) && ctx.Err() == nil; number, left = number+1, left-o.wave {
		due := time.Now().Add(25 * time.Second).Truncate(time.Minute).Add(time.Minute)
		c.wave(ctx, random, number, min(o.wave, left), due)
		tooMany := func(end time.Time) bool { return c.waiting() > 6*o.wave && time.Since(end) < 5*time.Minute }
		for end := due.Add(30 * time.Second); (time.Now().Before(end) || tooMany(end)) && ctx.Err() == nil; pause(ctx, time.Second) {
			if o.stopAtFirst && violatesAt(c.verdicts(false)) {
				return true
			}
		}
		fmt.Printf("%s: %d of %d runs of each, %d not done, %d with violations\n", time.Now().UTC().Format(time.TimeOnly),
			min(o.runs, (number+1)*o.wave), o.runs, c.waiting(), len(c.verdicts(false)))
		go c.tidy(ctx, due.Add(-2*time.Minute))
	}
	return false
}

// print prints the timeline of each run with violations, what was done to the runs, and the table.
func (c *court) print(verdicts map[*run][]violation) {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	tally := c.journal.tally()
	for _, done := range slices.Sorted(maps.Keys(tally)) {
		fmt.Fprintf(table, "%d\t%s\n", tally[done], done)
	}
	fmt.Fprintln(table, "\nadapter\truns\tbegan\ttwice\tearly\tfalse\tforgotten")
	for _, a := range adapters {
		runs, began, broken := 0, 0, map[rule]int{}
		for _, r := range c.runs {
			if r.adapter != a {
				continue
			}
			runs++
			if c.journal.has(r.name, begun) {
				began++
			}
			rules := map[rule]bool{}
			for _, v := range verdicts[r] {
				fmt.Printf("%s: %s: %s\n", r.name, v.rule, v.text)
				rules[v.rule] = true
			}
			for rule := range rules {
				broken[rule]++
			}
			if len(rules) > 0 {
				fmt.Println(c.journal.timeline(r.name))
			}
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", a.name, runs, began, broken[twice], broken[early], broken[falsely], broken[forgotten])
	}
	_ = table.Flush() // to the terminal
}
