// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

const operatorNamespace = "podset-operator-system"

type options struct {
	runs, wave       int
	seed             uint64
	image, counter   string
	adapters, faults string
	lab, journal     string
	settle           time.Duration
	stopAtFirst      bool
}

func main() {
	var o options
	flag.IntVar(&o.runs, "runs", 40, "runs of each adapter")
	flag.IntVar(&o.wave, "wave", 8, "runs of each adapter that are due at the same minute")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the commands, the users, and the faults")
	flag.StringVar(&o.image, "image", "", "image of the command, see package command")
	flag.StringVar(&o.counter, "counter", "10.13.0.1:7070", "address of this machine that pods can reach, and a free port: HOST:PORT")
	flag.StringVar(&o.adapters, "adapters", "", "regular expression that selects adapters")
	flag.StringVar(&o.faults, "faults", "", "regular expression that selects faults")
	flag.StringVar(&o.lab, "lab", "", "script of the lab, if the cluster is the lab on this machine")
	flag.StringVar(&o.journal, "journal", "judge.log", "file for the journal")
	flag.DurationVar(&o.settle, "settle", 4*time.Minute, "how long runs may take to end after the last fault")
	flag.BoolVar(&o.stopAtFirst, "stop", false, "stop at the first violation of an At")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
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
	c, injectors, err := o.prepare(ctx)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", ":"+o.counter[strings.LastIndex(o.counter, ":")+1:])
	if err != nil {
		return err
	}
	defer listener.Close()
	go (&counter{journal: c.journal}).serve(listener)
	observing, stopObserving := context.WithCancel(ctx)
	defer stopObserving()
	go c.observe(observing)

	hunting, stopHunting := context.WithCancel(ctx)
	hunted := make(chan struct{})
	go func() {
		defer close(hunted)
		(&nemesis{court: c, faults: injectors, random: rand.New(rand.NewPCG(o.seed, 1))}).run(hunting)
	}()
	started := time.Now()
	o.waves(ctx, c)
	stopHunting()
	<-hunted
	for end := time.Now().Add(o.settle); time.Now().Before(end) && c.waiting() > 0 && ctx.Err() == nil && !o.stopAtFirst; {
		pause(ctx, time.Second)
	}
	verdicts := c.verdicts(!o.stopAtFirst && ctx.Err() == nil)
	fmt.Printf("\nseed %d, %s, %s\n\n", o.seed, time.Since(started).Round(time.Second), time.Now().UTC().Format(time.DateOnly))
	c.print(verdicts)
	c.remove(context.WithoutCancel(ctx), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}})
	for r := range verdicts {
		if strings.HasPrefix(r.adapter.name, "at") {
			return errors.New("an At violates a rule")
		}
	}
	return ctx.Err()
}

// prepare connects to the cluster, and makes an empty namespace.
func (o *options) prepare(ctx context.Context) (*court, []injector, error) {
	file, err := os.Create(o.journal)
	if err != nil {
		return nil, nil, err
	}
	utilruntime.Must(cnatv1alpha1.AddToScheme(scheme.Scheme))
	cluster, err := config.GetConfig()
	if err != nil {
		return nil, nil, err
	}
	cluster.QPS, cluster.Timeout = -1, 10*time.Second
	campaign := strconv.FormatInt(time.Now().Unix(), 36)
	c := &court{namespace: "judge-" + campaign, campaign: campaign, image: o.image, counter: o.counter, pods: map[string]string{}}
	c.journal = &journal{file: file}
	if c.client, err = client.New(cluster, client.Options{Scheme: scheme.Scheme}); err != nil {
		return nil, nil, err
	}
	if c.adapters, err = selected(adapters, o.adapters, func(a *adapter) string { return a.name }); err != nil {
		return nil, nil, err
	}
	injectors := c.anywhere()
	if o.lab != "" {
		l := &lab{script: o.lab, home: filepath.Dir(os.Getenv("KUBECONFIG")), journal: c.journal}
		injectors = append(injectors, l.faults()...)
	}
	if injectors, err = selected(injectors, o.faults, func(i injector) string { return i.name }); err != nil {
		return nil, nil, err
	}
	return c, injectors, c.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}})
}

// waves begins a wave each minute, and prints a line for each.
func (o *options) waves(ctx context.Context, c *court) {
	random := rand.New(rand.NewPCG(o.seed, 0))
	for number, left := 0, o.runs; left > 0 && ctx.Err() == nil; number, left = number+1, left-o.wave {
		due := time.Now().Add(25 * time.Second).Truncate(time.Minute).Add(time.Minute)
		c.wave(ctx, random, number, min(o.wave, left), due)
		pause(ctx, time.Until(due.Add(30*time.Second)))
		verdicts := c.verdicts(false)
		fmt.Printf("%s: %d of %d runs of each, %d not done, %d with violations\n",
			time.Now().UTC().Format(time.TimeOnly), o.runs-max(0, left-o.wave), o.runs, c.waiting(), len(verdicts))
		for r := range verdicts {
			if o.stopAtFirst && strings.HasPrefix(r.adapter.name, "at") {
				return
			}
		}
		go c.tidy(ctx, due.Add(-4*time.Minute))
	}
}

// print prints the timeline of each run with violations, and the table.
func (c *court) print(verdicts map[*run][]violation) {
	events := c.journal.byName()
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "adapter\truns\tbegan\ttwice\tearly\tfalse\tforgotten")
	for _, a := range c.adapters {
		runs, began, broken := 0, 0, map[rule]int{}
		for _, r := range c.runs {
			if r.adapter != a {
				continue
			}
			runs++
			if slices.ContainsFunc(events[r.name], func(e event) bool { return e.kind == begun }) {
				began++
			}
			for _, rule := range rules {
				if slices.ContainsFunc(verdicts[r], func(v violation) bool { return v.rule == rule }) {
					broken[rule]++
				}
			}
			for _, v := range verdicts[r] {
				fmt.Printf("%s: %s: %s\n", r.name, v.rule, v.text)
			}
			if len(verdicts[r]) > 0 {
				fmt.Println(c.journal.timeline(r.name))
			}
		}
		fmt.Fprintf(table, "%s\t%d\t%d", a.name, runs, began)
		for _, rule := range rules {
			fmt.Fprintf(table, "\t%d", broken[rule])
		}
		fmt.Fprintln(table)
	}
	_ = table.Flush() // to the terminal
}

// selected returns the elements whose name matches the regular expression.
func selected[T any](all []T, expression string, name func(T) string) ([]T, error) {
	matches, err := regexp.Compile(expression)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(t T) bool { return !matches.MatchString(name(t)) }), nil
}
