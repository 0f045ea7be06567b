// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/podset"
)

// A create that was refused is tried again after 1 s, doubling to 1 minute.
const minRefusalBackoff, maxRefusalBackoff = time.Second, time.Minute

// unseenFor is how long the cache may take to show a pod that we created, before the API server is asked for it.
const unseenFor = 5 * time.Second

// memory is what this process knows of one object and the cache may not show yet: its own writes. But for echo only the
// worker that reconciles the object touches it, and the work queue gives an object to one worker at a time.
type memory struct {
	uid types.UID
	// written is the object as our last write of its status returned it; nil: none yet.
	written client.Object
	// templateHash is that of the template of a PodSet's generation hashedAt.
	templateHash string
	hashedAt     int64
	// created are the pods that we created and the cache has not shown.
	created map[types.UID]unseen
	// deleted are the pods whose deletion we asked for and the cache shows as living.
	deleted sets.Set[types.UID]
	// gone are pods that we created and that were gone before the cache could show them. A cache that lags will show them as
	// living, and they are deleted pods then.
	gone sets.Set[types.UID]
	// attempts are the first possible attempts of the slots of a PodSet: see podset.Observation.
	attempts map[int]int
	// holder is the pod that was met under the name that an At's next pod must have; nil: none.
	holder *corev1.Pod
	// run is the pod of an At that is not in its status yet, as far as this process knows: the only witness of the run.
	run *corev1.Pod
	// unreported is what was done and is not in the status and the events yet.
	unreported podset.Outcome
	// reportBy is when that must be told though there is more to do; zero while there is nothing to tell.
	reportBy time.Time
	// echo is the resource version of our last write of the status, which the cache will tell as news.
	echo atomic.Pointer[string]
	// fresh is set once the caches were seen to be at least as new as this process.
	fresh bool
	// refusal is the API server's last "no" to a create, refusals its back-off.
	refusal  refusal
	refusals backoff
	// sweepAt is when finished pods may be removed, zero while there are none; sweeps is its back-off.
	sweepAt time.Time
	sweeps  backoff
}

// unseen is a pod that the cache has not shown, and when the API server last confirmed it.
type unseen struct {
	pod *corev1.Pod
	at  time.Time
}

// refusal is a "no" of the API server to a create for one generation of a spec; until is zero when there is none.
type refusal struct {
	message    string
	invalid    bool // The object itself was invalid.
	generation int64
	until      time.Time
}

// memories holds the memory of each object of one kind.
type memories struct {
	mu    sync.Mutex
	byKey map[types.NamespacedName]*memory
}

// of gives the memory of an object. An object that was deleted and made again starts with none.
func (m *memories) of(obj client.Object) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(obj)
	known, ok := m.byKey[key]
	if !ok || known.uid != obj.GetUID() {
		known = &memory{
			uid:     obj.GetUID(),
			created: map[types.UID]unseen{},
			deleted: sets.New[types.UID](),
			gone:    sets.New[types.UID](),
		}
		if m.byKey == nil {
			m.byKey = map[types.NamespacedName]*memory{}
		}
		m.byKey[key] = known
	}
	return known
}

// news drops the updates which say that our last write of a status has arrived: whoever wrote it knows.
func (m *memories) news() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		m.mu.Lock()
		known, ok := m.byKey[client.ObjectKeyFromObject(e.ObjectNew)]
		m.mu.Unlock()
		if !ok || known.uid != e.ObjectNew.GetUID() {
			return true
		}
		echo := known.echo.Load()
		return echo == nil || *echo != e.ObjectNew.GetResourceVersion()
	}}
}

// forgetIfGone drops the memory of an object that was not found, and returns any other error.
func (m *memories) forgetIfGone(key types.NamespacedName, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byKey, key)
	return nil
}

// newest is the newer of what the cache shows of an object and what our last write of its status returned.
func newest[T client.Object](m *memory, cached T) T {
	written, ok := m.written.(T)
	if !ok {
		return cached
	}
	if older, err := isOlder(cached.GetResourceVersion(), written.GetResourceVersion()); err == nil && older {
		return written
	}
	m.written = nil
	return cached
}

// hash is the hash of a PodSet's template. Computing it costs more than the rest of a pass that changes nothing.
func (m *memory) hash(set *appv1alpha1.PodSet) string {
	if m.templateHash == "" || m.hashedAt != set.Generation {
		m.templateHash, m.hashedAt = podset.HashTemplate(set.Spec.Template), set.Generation
	}
	return m.templateHash
}

// pods adds to the pods that the cache shows those that it does not show yet, and forgets what it shows by now. A pod
// that stays unseen is looked up, since it may have been deleted before the cache could show it.
func (m *memory) pods(ctx context.Context, live client.Reader, cached []*corev1.Pod, now time.Time) ([]*corev1.Pod, error) {
	living := sets.New[types.UID]()
	for _, pod := range cached {
		delete(m.created, pod.UID)
		if pod.DeletionTimestamp == nil {
			living.Insert(pod.UID)
		}
		if m.gone.Has(pod.UID) {
			m.gone.Delete(pod.UID)
			m.noteDeleted(pod.UID)
		}
	}
	for uid, created := range m.created {
		if now.Sub(created.at) >= unseenFor {
			pod := &corev1.Pod{}
			err := live.Get(ctx, client.ObjectKeyFromObject(created.pod), pod)
			if client.IgnoreNotFound(err) != nil {
				return nil, fmt.Errorf("looking up Pod %s: %w", created.pod.Name, err)
			}
			if owner := metav1.GetControllerOfNoCopy(pod); err != nil || pod.UID != uid || owner == nil || owner.UID != m.uid {
				delete(m.created, uid)
				m.gone.Insert(uid)
				continue
			}
			created = unseen{pod: trim(pod), at: now}
			m.created[uid] = created
		}
		living.Insert(uid)
		cached = append(cached, created.pod)
	}
	m.deleted = m.deleted.Intersection(living)
	return cached, nil
}

// noteCreated remembers a pod that exists and that the cache may not show.
func (m *memory) noteCreated(pod *corev1.Pod, now time.Time) {
	m.created[pod.UID] = unseen{pod: pod, at: now}
}

// noteDeleted remembers a pod that is going and that the cache may show as living.
func (m *memory) noteDeleted(uid types.UID) { m.deleted.Insert(uid) }

// refuse remembers that the API server said no to a create for a generation of the spec.
func (m *memory) refuse(err error, generation int64, now time.Time) {
	m.refusal = refusal{
		message:    err.Error(),
		invalid:    apierrors.IsInvalid(err),
		generation: generation,
		until:      m.refusals.next(now, minRefusalBackoff, maxRefusalBackoff),
	}
}

// refusalOf is the refusal to remember for a generation of the spec; an edited spec is tried at once.
func (m *memory) refusalOf(generation int64) *refusal {
	if m.refusal.until.IsZero() || m.refusal.generation != generation {
		return nil
	}
	return &m.refusal
}

// accept forgets refusals: all creates went well.
func (m *memory) accept() { m.refusal, m.refusals = refusal{}, backoff{} }

// noteRun remembers the pod that is about to be recorded, whoever made it: the answer to the record may be lost, the
// cache may show the record late, and the pod may be gone by then.
func (m *memory) noteRun(pods []*corev1.Pod, about types.UID) {
	for _, pod := range pods {
		if pod.UID == about {
			m.run = pod
		}
	}
}

// withRun adds the pod of a run to the pods until recorded, the UID in the status, is its own, even if it is gone by then.
func (m *memory) withRun(pods []*corev1.Pod, recorded types.UID) []*corev1.Pod {
	if m.run == nil || m.run.UID == recorded {
		m.run = nil
		return pods
	}
	if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.UID == m.run.UID }) {
		return pods
	}
	return append(pods, m.run)
}

// checkUnseenAt is when an unseen pod must be looked up; zero: there is none.
func (m *memory) checkUnseenAt() time.Time {
	var first time.Time
	for _, created := range m.created {
		first = earliest(first, created.at.Add(unseenFor))
	}
	return first
}

// backoff is a delay that doubles each time it is asked for, and starts over when it was not for a while.
type backoff struct {
	delay time.Duration
	until time.Time
}

// next is the end of the next delay.
func (b *backoff) next(now time.Time, first, last time.Duration) time.Time {
	if b.delay == 0 || now.Sub(b.until) > 2*b.delay {
		b.delay = first
	} else {
		b.delay = min(2*b.delay, last)
	}
	b.until = now.Add(b.delay)
	return b.until
}

// earliest is the earlier of two times, of which a zero one does not count.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
