// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/proof"
)

// The operator's own metrics. No label has a value that users choose, so the number of time series is limited. The
// namespaces are those of WATCH_NAMESPACE.
var (
	// The label is not "namespace", which Prometheus sets to the namespace of the operator.
	namespaceUnreadable = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "podset_operator_namespace_unreadable",
		Help: "1 if the operator lacks permission to read all of a namespace of WATCH_NAMESPACE and so does not fully serve it, else 0. Only with several namespaces.",
	}, []string{"target_namespace"})
	atRuns = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podset_operator_at_runs_total",
		Help: "Finished Ats, by result and reason.",
	}, []string{"result", "reason"})
	atStartDelay = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "podset_operator_at_start_delay_seconds",
		Help:    "Time from when an At was due, or from its creation if that was later, to the start of its pod.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
	})
	conflicts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podset_operator_stale_cache_conflicts_total",
		Help: "Reconciles that were repeated because the cache lagged behind the API server, by kind.",
	}, []string{"kind"})
	nameCollisions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podset_operator_pod_name_collisions_total",
		Help: "Pod creations that found another pod with the same name, by kind of the owner.",
	}, []string{"kind"})
	rejectedCreates = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podset_operator_rejected_creates_total",
		Help: "Requests for pods that the API server rejected, for example because of a quota or a broken admission webhook, by kind of the owner.",
	}, []string{"kind"})
	podSetsDesc         = prometheus.NewDesc("podset_operator_podsets", "PodSets that the operator serves.", nil, nil)
	podSetsDesiredDesc  = prometheus.NewDesc("podset_operator_podset_desired_pods", "Desired pods of all PodSets.", nil, nil)
	podSetsReadyDesc    = prometheus.NewDesc("podset_operator_podset_ready_pods", "Ready pods of all PodSets.", nil, nil)
	podSetsDegradedDesc = prometheus.NewDesc("podset_operator_podsets_degraded", "PodSets that are Degraded and not paused.", nil, nil)
	atsDesc             = prometheus.NewDesc("podset_operator_ats", "Ats that the operator serves, by phase.", []string{"phase"}, nil)
	atsNotStartedDesc   = prometheus.NewDesc("podset_operator_ats_not_started", "RUNNING Ats whose pod cannot start, or has not started for at least a minute.", nil, nil)
)

// countRuns is a handler that counts the Ats that end, and enqueues nothing. It counts what the cache shows instead of
// what the process writes, because a write may have succeeded although its response was lost.
func countRuns() handler.EventHandler {
	return handler.Funcs{UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ queue) {
		before, ok := e.ObjectOld.(*cnatv1alpha1.At)
		now, both := e.ObjectNew.(*cnatv1alpha1.At)
		if ok && both && !proof.IsDone(&before.Status) && proof.IsDone(&now.Status) {
			atRuns.WithLabelValues(string(now.Status.Result), now.Status.Reason).Inc()
		}
	}}
}

// startCounters initializes every counter to 0. Prometheus sees no increase in a counter that appears with the value 1,
// so an alert would miss the first failure after a start.
func startCounters() {
	for _, reason := range proof.TerminalReasons {
		atRuns.WithLabelValues(string(proof.ResultOf(reason)), reason)
	}
	for _, kind := range []string{podSetKind.Kind, atKind.Kind} {
		conflicts.WithLabelValues(kind)
		nameCollisions.WithLabelValues(kind)
		rejectedCreates.WithLabelValues(kind)
	}
}

// RegisterMetrics adds the operator's own metrics to those of controller-runtime until mgr stops.
func RegisterMetrics(mgr ctrl.Manager) error {
	startCounters()
	collectors := []prometheus.Collector{
		atRuns, atStartDelay, namespaceUnreadable, conflicts, nameCollisions, rejectedCreates, stateCollector{reader: mgr.GetClient()},
	}
	for _, collector := range collectors {
		if err := metrics.Registry.Register(collector); err != nil {
			return fmt.Errorf("registering metrics: %w", err)
		}
	}
	return mgr.Add(nonLeaderRunnable(func(ctx context.Context) error {
		<-ctx.Done()
		for _, collector := range collectors {
			metrics.Registry.Unregister(collector)
		}
		return nil
	}))
}

// nonLeaderRunnable is a runnable that also runs in a process that does not lead.
type nonLeaderRunnable func(context.Context) error

func (r nonLeaderRunnable) Start(ctx context.Context) error { return r(ctx) }
func (nonLeaderRunnable) NeedLeaderElection() bool          { return false }

// stateCollector counts the objects in the cache at each scrape.
type stateCollector struct{ reader client.Reader }

func (stateCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- podSetsDesc
	descs <- podSetsDesiredDesc
	descs <- podSetsReadyDesc
	descs <- podSetsDegradedDesc
	descs <- atsDesc
	descs <- atsNotStartedDesc
}

func (c stateCollector) Collect(values chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	sets, ats := &appv1alpha1.PodSetList{}, &cnatv1alpha1.AtList{}
	if c.reader.List(ctx, sets, client.UnsafeDisableDeepCopy) != nil || c.reader.List(ctx, ats, client.UnsafeDisableDeepCopy) != nil {
		return // The caches are not filled: this process is not the leader, or has just become the leader.
	}
	var desired, ready int32
	degraded, notStarted := 0, 0
	for n := range sets.Items {
		status := &sets.Items[n].Status
		desired += ptr.Deref(sets.Items[n].Spec.Replicas, 1)
		ready += status.ReadyReplicas
		progress := meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionProgressing)
		paused := progress != nil && progress.Reason == appv1alpha1.ReasonPaused
		if !paused && meta.IsStatusConditionTrue(status.Conditions, appv1alpha1.ConditionDegraded) {
			degraded++
		}
	}
	phases := map[cnatv1alpha1.Phase]int{cnatv1alpha1.PhasePending: 0, cnatv1alpha1.PhaseRunning: 0, cnatv1alpha1.PhaseDone: 0}
	for n := range ats.Items {
		status := &ats.Items[n].Status
		phases[cmp.Or(status.Phase, cnatv1alpha1.PhasePending)]++
		if c := meta.FindStatusCondition(status.Conditions, cnatv1alpha1.ConditionReady); c != nil && c.Reason == cnatv1alpha1.ReasonPodWaiting {
			notStarted++
		}
	}
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		values <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	gauge(podSetsDesc, float64(len(sets.Items)))
	gauge(podSetsDesiredDesc, float64(desired))
	gauge(podSetsReadyDesc, float64(ready))
	gauge(podSetsDegradedDesc, float64(degraded))
	gauge(atsNotStartedDesc, float64(notStarted))
	for phase, n := range phases {
		gauge(atsDesc, float64(n), string(phase))
	}
}
