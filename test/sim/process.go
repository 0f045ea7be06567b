// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/controllers"
	"github.com/redhat/podset-operator/internal/kube/serverclock"
	"github.com/redhat/podset-operator/test/invariants"
)

var (
	scheme = newScheme()
	mapper = newMapper()
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, appv1alpha1.AddToScheme, cnatv1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // The types are part of the program.
		}
	}
	return s
}

func newMapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(appv1alpha1.GroupVersion.WithKind("PodSet"), meta.RESTScopeNamespace)
	m.Add(cnatv1alpha1.GroupVersion.WithKind("At"), meta.RESTScopeNamespace)
	m.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	return m
}

// Operator is what a simulation runs.
type Operator struct {
	// Configure sets the caches of the manager. Nil means the default caches.
	Configure func(o *ctrl.Options, namespaces []string)
	// Setup adds the controllers.
	Setup func(ctx context.Context, mgr ctrl.Manager, clock clock.WithTicker) error
	// Clock returns the clock that the operator uses instead of its own, and a function that gets the Date of each response of the API
	// server, and when the request was sent and the response received, by the operator's own clock. Nil means that the operator uses its
	// own clock.
	Clock func(own clock.WithTicker) (used clock.WithTicker, observe func(date, sent, received time.Time))
	// Full is true if the operator fills the whole status.
	Full bool
	// Defect is a seeded defect of the operator.
	Defect Defect
}

// Ours is this operator, with the wiring of main.
var Ours = Operator{
	Configure: controllers.ConfigureCaches, Full: true,
	Setup: func(ctx context.Context, mgr ctrl.Manager, clock clock.WithTicker) error {
		return controllers.Add(ctx, mgr, controllers.Options{Clock: clock, Image: invariants.DefaultImage})
	},
	Clock: func(own clock.WithTicker) (clock.WithTicker, func(date, sent, received time.Time)) {
		c := serverclock.New(own)
		return c, c.Observe
	},
}

// process is one process of the operator: it leads from its start.
type process struct {
	manager.Manager // nil, because the operator does not use the rest
	number          int
	env             *env
	ctx             context.Context
	kill            context.CancelFunc
	cache           cache.Cache
	clock           *wallClock
	observe         func(date, sent, received time.Time) // see Operator; may be nil
	answered, odd   bool                                 // whether it got a prompt response, and whether the date of the last one was odd
	runnables       []manager.Runnable
	elected         chan struct{}
	done            sync.WaitGroup

	shown       map[types.UID]bool      // the pods that a list, a watch, or a get has shown
	cached      map[types.UID]time.Time // since when a list or a watch has shown each object
	failedLists int

	mu         sync.Mutex
	reconciles map[types.UID]began
	idle       int // how often it has reconciled since the last event
}

var restConfig = &rest.Config{Host: "http://simulated"}

func (e *env) start() (*process, error) {
	p := &process{number: len(e.started) + 1, env: e, clock: &e.clock, elected: make(chan struct{}), reconciles: map[types.UID]began{}, shown: map[types.UID]bool{}, cached: map[types.UID]time.Time{}}
	p.ctx, p.kill = context.WithCancel(context.WithValue(context.Background(), processKey{}, p))
	close(p.elected)
	options := ctrl.Options{NewCache: cache.New}
	if e.operator.Configure != nil {
		e.operator.Configure(&options, nil)
	}
	options.Cache.Scheme, options.Cache.Mapper, options.Cache.HTTPClient = scheme, mapper, http.DefaultClient
	newInformer := options.Cache.NewInformer
	if newInformer == nil {
		newInformer = toolscache.NewSharedIndexInformer
	}
	options.Cache.NewInformer = func(_ toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		s := source{p, ResourceOf(object)}
		return newInformer(&toolscache.ListWatch{ListWithContextFunc: s.ListWithContext, WatchFuncWithContext: s.WatchWithContext}, object, resync, indexers)
	}
	var err error
	if p.cache, err = options.NewCache(restConfig, options.Cache); err != nil {
		return nil, fmt.Errorf("creating the cache: %w", err)
	}
	var used clock.WithTicker = aheadClock{p.clock, e.operator.Defect.Ahead}
	if e.operator.Clock != nil && e.scenario.has(Clocks) {
		used, p.observe = e.operator.Clock(used)
	}
	if err := e.operator.Setup(p.ctx, p, used); err != nil {
		return nil, fmt.Errorf("adding the controllers: %w", err)
	}
	e.started[p.number] = e.now()
	for _, runnable := range append(p.runnables, p.cache) {
		p.done.Go(func() {
			if err := runnable.Start(p.ctx); err != nil && p.ctx.Err() == nil {
				e.violate("P10", "process %d ended by itself: %v", p.number, err)
			}
		})
		synctest.Wait() // Otherwise they would race for the first events.
	}
	return p, nil
}

// processKey is the key of the process in the contexts of its runnables.
type processKey struct{}

// RecordPanic records that a process panicked: P10. It is one of the PanicHandlers of k8s.io/apimachinery, which controller-runtime calls
// when it recovers from a panic of a reconciler.
func RecordPanic(ctx context.Context, value any) {
	if p, ok := ctx.Value(processKey{}).(*process); ok {
		p.env.violate("P10", "process %d panicked: %v", p.number, value)
	}
}

// The methods of a manager that the operator uses.

func (p *process) GetCache() cache.Cache                { return p.cache }
func (p *process) GetClient() client.Client             { return operatorClient{process: p} }
func (p *process) GetAPIReader() client.Reader          { return apiReader{process: p} }
func (p *process) GetFieldIndexer() client.FieldIndexer { return p.cache }
func (p *process) GetScheme() *runtime.Scheme           { return scheme }
func (p *process) GetRESTMapper() meta.RESTMapper       { return mapper }
func (p *process) Elected() <-chan struct{}             { return p.elected }
func (p *process) GetLogger() logr.Logger {
	if p.env.trace == nil {
		return logr.Discard()
	}
	return logr.New(&logSink{process: p})
}
func (p *process) Add(r manager.Runnable) error {
	adapt(r)
	p.runnables = append(p.runnables, r)
	return nil
}
func (p *process) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: ptr.To(true)}
}
func (p *process) GetEventRecorder(string) recorder.EventRecorder { return eventRecorder{p} }

// eventRecorder records the events of a process.
type eventRecorder struct{ process *process }

func (r eventRecorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	r.AnnotatedEventf(regarding, related, nil, kind, reason, action, note, args...)
}

func (r eventRecorder) AnnotatedEventf(regarding, _ runtime.Object, _ map[string]string, kind, reason, action, note string, args ...any) {
	object, ok := regarding.(client.Object)
	if !ok {
		return
	}
	r.process.env.record(r.process, eventsv1.Event{
		EventTime: metav1.NewMicroTime(r.process.env.now()), Type: kind, Reason: reason, Action: action, Note: fmt.Sprintf(note, args...),
		Regarding: corev1.ObjectReference{Name: object.GetName(), UID: object.GetUID()},
	})
}
