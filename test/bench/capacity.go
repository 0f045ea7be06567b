// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// capacityMetric is the metric of the page about capacity.
const capacityMetric = "M12"

// The ends of the names of the cases of M12, which start with a number of objects, and the name of all of them together.
const (
	waitingAts   = " waiting Ats"
	templatedAts = " waiting Ats with a template"
	podsByKwok   = " pods in sets of 10, run by kwok"
	dueInMinute  = " Ats due within a minute"
	allOfIt      = "next to all Ats and pods"
)

// The units of the values for each size.
const (
	operatorHeap = "MiB of live memory of the operator"
	operatorRSS  = "MiB of resident memory of the operator"
	serverHeap   = "MiB of live memory of kube-apiserver"
	etcdSize     = "MiB in etcd"
	restartTime  = "s until all are reconciled after a restart"
	writeCount   = "writes of the operator for each new object"
	cpuTime      = "ms of processor time of the operator for each new object"
)

// growth is one kind of object of which more and more are created.
type growth struct {
	suffix string
	levels []int
	// create creates the objects from one level to the next.
	create func(ctx context.Context, from, to int) error
	// owners is how many objects the operator reconciles for n objects.
	owners func(n int) int
}

// capacity is M12: more and more waiting Ats, then some with a template, then more and more pods next to them, then many Ats that
// are due within a minute, then failover. Each step is measured next to the objects of the earlier ones, so all figures of an earlier
// measurement, perhaps of other sizes, are removed.
func (b *bench) capacity(ctx context.Context) (err error) {
	if !b.wanted(operatorArm.name) {
		return nil
	}
	b.raw.dropMetric(capacityMetric)
	k, err := b.startKwok(ctx)
	if err != nil {
		return fmt.Errorf("starting kwok: %w", err)
	}
	defer func() { err = errors.Join(err, k.stop()) }()
	namespace, err := b.cluster.namespace(ctx)
	if err != nil {
		return err
	}
	p, err := b.startWarm(ctx, operatorArm)
	if err != nil {
		return err
	}
	defer func() { p.kill() }()
	// One object more, so that there always is something to reconcile.
	if err := b.createWaiting(ctx, namespace, "first", false, 0, 1); err != nil {
		return err
	}
	owners := 1
	for _, g := range []growth{
		{waitingAts, b.sizes.waiting, func(ctx context.Context, from, to int) error {
			return b.createWaiting(ctx, namespace, "waiting", false, from, to)
		}, func(n int) int { return n }},
		{templatedAts, b.sizes.waiting[:1], func(ctx context.Context, from, to int) error {
			return b.createWaiting(ctx, namespace, "templated", true, from, to)
		}, func(n int) int { return n }},
		{podsByKwok, multiplied(b.sizes.kwokSets, 10), func(ctx context.Context, from, to int) error {
			_, _, err := b.fillWithKwok(ctx, operatorArm, (to-from)/10, 10)
			return err
		}, func(n int) int { return n / 10 }},
	} {
		if p, err = b.grow(ctx, p, g, owners); err != nil {
			return err
		}
		owners += g.owners(g.levels[len(g.levels)-1])
	}
	if err := b.fireWithinAMinute(ctx, p); err != nil {
		return err
	}
	p.kill()
	for rep := range b.sizes.repsOf(many) {
		if err := b.failover(ctx, operatorArm, capacityMetric, allOfIt, rep); err != nil {
			return err
		}
	}
	return nil
}

// multiplied multiplies numbers by a factor.
func multiplied(numbers []int, factor int) []int {
	result := make([]int, len(numbers))
	for i, n := range numbers {
		result[i] = n * factor
	}
	return result
}

// grow creates objects level by level. At each level it restarts the operator, so that its memory is that of a new process. It
// returns the last process. others is the number of objects that the operator reconciled before.
func (b *bench) grow(ctx context.Context, p *process, g growth, others int) (*process, error) {
	have := 0
	for _, level := range append([]int{0}, g.levels...) {
		what := strconv.Itoa(level) + g.suffix
		if level > have {
			if err := b.growTo(ctx, p, g, have, level); err != nil {
				return p, err
			}
			have = level
		}
		p.kill()
		next, took, err := b.startForHeap(ctx, others+g.owners(level))
		if err != nil {
			return p, err
		}
		p = next
		if err := b.add(capacityMetric, what, p.name, restartTime, 0, took.Seconds()); err != nil {
			return p, err
		}
		if err := b.weigh(ctx, p, what); err != nil {
			return p, err
		}
	}
	return p, nil
}

// growTo creates the objects of one level and adds what each of them took.
func (b *bench) growTo(ctx context.Context, p *process, g growth, from, to int) error {
	before, err := p.cpu()
	if err != nil {
		return err
	}
	asked, err := b.phase(ctx, p, func() error { return g.create(ctx, from, to) })
	if err != nil {
		return err
	}
	used, err := p.cpu()
	what, n := strconv.Itoa(to)+g.suffix, float64(to-from)
	return errorsOf(err,
		b.add(capacityMetric, what, p.name, writeCount, 0, asked.writes/n),
		b.add(capacityMetric, what, p.name, cpuTime, 0, milliseconds(used-before)/n),
	)
}

// createWaiting creates Ats that are due tomorrow, with a schedule and a command, and a template if that is asked for.
func (b *bench) createWaiting(ctx context.Context, namespace, name string, template bool, from, to int) error {
	tomorrow := time.Now().Add(24 * time.Hour)
	return inParallel(ctx, to-from, inFlight, func(ctx context.Context, i int) error {
		at := makeAt(namespace, fmt.Sprintf("%s-%d", name, from+i), tomorrow)
		if !template {
			at.Spec.Template = nil
		}
		return b.cluster.admin.Create(ctx, at)
	})
}

// startForHeap starts the operator with profiles, through which its garbage is collected, and waits until it has reconciled all.
func (b *bench) startForHeap(ctx context.Context, objects int) (*process, time.Duration, error) {
	if b.profiles != "" {
		return b.startAndReconcile(ctx, operatorArm, objects)
	}
	port, err := freePort()
	if err != nil {
		return nil, 0, err
	}
	p, took, err := b.startAndReconcile(ctx, operatorArm, objects, fmt.Sprintf("--pprof-bind-address=127.0.0.1:%d", port))
	if err == nil {
		p.profiles = port
	}
	return p, took, err
}

// weigh adds what all objects so far take in the operator, in the API server, and in etcd.
func (b *bench) weigh(ctx context.Context, p *process, what string) error {
	if err := p.settle(ctx); err != nil {
		return err
	}
	resident, err := p.resident("RssAnon")
	if err != nil {
		return err
	}
	operator, err := liveMiB(ctx, http.DefaultClient, fmt.Sprintf("http://127.0.0.1:%d", p.profiles))
	if err != nil {
		return err
	}
	server, err := b.cluster.collectGarbage(ctx)
	if err != nil {
		return err
	}
	stored, err := b.cluster.storedMiB(ctx)
	return errorsOf(err,
		b.add(capacityMetric, what, p.name, operatorRSS, 0, resident),
		b.add(capacityMetric, what, p.name, operatorHeap, 0, operator),
		b.add(capacityMetric, what, p.name, serverHeap, 0, server),
		b.add(capacityMetric, what, p.name, etcdSize, 0, stored),
	)
}

// heapAlloc is in the heap profile of a Go program, in the form for people.
var heapAlloc = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)

// liveMiB collects the garbage of a Go program with net/http/pprof and returns how much memory is in use then. It does not read the
// metrics, because the operator visits all objects for them.
func liveMiB(ctx context.Context, c *http.Client, host string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, host+"/debug/pprof/heap?gc=1&debug=1", http.NoBody)
	if err != nil {
		return 0, err
	}
	profile, err := fetch(c, req)
	if err != nil {
		return 0, err
	}
	match := heapAlloc.FindSubmatch(profile)
	if match == nil {
		return 0, fmt.Errorf("the heap profile of %s has no HeapAlloc", host)
	}
	bytes, err := strconv.ParseFloat(string(match[1]), 64)
	return bytes / (1 << 20), err
}

// fireWithinAMinute creates Ats that are due one after the other within a minute. Their pods run longer than that.
func (b *bench) fireWithinAMinute(ctx context.Context, p *process) error {
	n := b.sizes.due
	f := &firing{bench: b, due: make([]time.Time, n), ended: map[string]time.Time{}}
	first := ahead(time.Now(), n)
	for i := range f.due {
		f.due[i] = first.Add(time.Duration(i) * time.Minute / time.Duration(n))
	}
	var err error
	if f.namespace, err = b.cluster.namespace(ctx); err != nil {
		return err
	}
	created, err := b.cluster.watchPods(ctx, f.namespace, nil)
	if err != nil {
		return err
	}
	defer created.stop()
	done, err := f.watchDone(ctx, operatorArm)
	if err != nil {
		return err
	}
	defer done.stop()
	if _, _, err := f.fireAndEnd(ctx, p, burst, created, done); err != nil {
		return err
	}
	what := strconv.Itoa(n) + dueInMinute
	return errorsOf(
		b.add(capacityMetric, what, operatorArm.name, msLate, 0, f.late(created.times())...),
		b.add(capacityMetric, what, operatorArm.name, "ms from the pod's end to the object's", 0, f.behind(done.times())...),
	)
}
