// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

var many = flag.Int("many", 200, "the number of PodSets in F24, which has twice as many Ats")

// bytesPerObject bounds the heap for one PodSet or At with its pod, all their events, and the log of the writes for them.
// The caches of the operator are a part of it. The observer, which keeps every event, needs most of it.
const bytesPerObject = 128 << 10

// F24: very many objects at once. Every one of them is checked at the end. No other test runs until the heap is measured.
func TestMany(t *testing.T) {
	sets, ats := *many, 2**many
	e := faults.NewEnv(t, cluster, "F24", faults.Ours)
	e.Timeout = 10 * time.Minute // This takes minutes on a busy machine.
	e.Supervise()
	start, before := time.Now(), heap()
	for i := range ats {
		if i < sets {
			e.Must(e.User.Create(e.Context(), inNamespace(e, podSet(fmt.Sprintf("s%d", i), 1))))
		}
		a := at(fmt.Sprintf("a%d", i), "2020-01-30T10:02:00Z", "echo YAY")
		a.Spec.TTLSecondsAfterFinished = ptr.To[int32](3600)
		e.Must(e.User.Create(e.Context(), inNamespace(e, a)))
	}
	e.Check("P3", e.AwaitTotalPods(sets+ats), "not all pods were created")
	created := time.Since(start)
	end(e)
	e.Settle()
	grown := int(heap()-before) >> 10
	e.Check("P3", grown < (sets+ats)*bytesPerObject>>10, "the heap has grown by %d KiB", grown)
	fmt.Printf("%d PodSets and %d Ats had their pods after %v; the heap grew by %d MiB, %d KiB for each\n",
		sets, ats, created.Round(time.Second), grown>>10, grown/(sets+ats))
	t.Parallel() // The heap is not measured any more, so other tests can run.
	e.Quiesce()
	e.ExpectCounts(faults.Counts{Creates: sets + ats})
}

// heap returns the bytes of the heap that are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// end ends the commands of all Ats, faster than one kubelet does.
func end(e *faults.Env) {
	e.Helper()
	var kubelets sync.WaitGroup
	for pods := range slices.Chunk(e.Pods(), 500) {
		kubelets.Go(func() {
			for _, pod := range pods {
				if pod.Labels[appv1alpha1.LabelPodSet] != "" {
					continue
				}
				patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`))
				if err := e.User.Status().Patch(e.Context(), pod.DeepCopy(), patch); err != nil {
					e.Error(err)
				}
			}
		})
	}
	kubelets.Wait()
}

func inNamespace[T metav1.Object](e *faults.Env, object T) T {
	object.SetNamespace(e.Namespace)
	return object
}
