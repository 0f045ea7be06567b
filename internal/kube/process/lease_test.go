// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"testing"
	"time"

	leasev1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/redhat/podset-operator/internal/kube/history"
)

func TestLease(t *testing.T) {
	type step struct {
		read    bool
		version string
		err     error
	}
	conflict := errors.New("conflict")
	for title, tc := range map[string]struct {
		steps []step
		fails bool
	}{
		"it is renewed":            {[]step{{true, "7", nil}, {false, "8", nil}, {false, "12", nil}}, false},
		"a request is lost":        {[]step{{true, "7", nil}, {false, "", conflict}, {true, "8", nil}, {false, "9", nil}}, false},
		"another one has it":       {[]step{{true, "7", nil}, {true, "7", nil}, {true, "8", nil}}, false},
		"a restore, and a read":    {[]step{{true, "7", nil}, {false, "10", nil}, {false, "", conflict}, {true, "9", nil}}, true},
		"a restore, and two reads": {[]step{{true, "70", nil}, {true, "9", nil}, {true, "8", nil}}, true},
		"a restore, and a write":   {[]step{{true, "7", nil}, {false, "1000", nil}, {false, "999", nil}}, true},
	} {
		t.Run(title, func(t *testing.T) {
			var now step
			clients := fake.NewClientset()
			clients.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, &leasev1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: LeaseName, ResourceVersion: now.version}}, now.err
			})
			lock, err := NewLeaseLock(&rest.Config{}, "home", time.Second)
			if err != nil {
				t.Fatal(err)
			}
			lock.Client = &watchedLeases{LeaseInterface: clients.CoordinationV1().Leases("home"), failed: lock.failed}
			for i := range tc.steps {
				now = tc.steps[i]
				if now.read {
					_, _, err = lock.Get(t.Context())
				} else {
					err = lock.Update(t.Context(), resourcelock.LeaderElectionRecord{})
				}
				if !errors.Is(err, now.err) {
					t.Errorf("step %d: %v", i, err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if !tc.fails {
				cancel()
			}
			if err := lock.Start(ctx); errors.Is(err, history.ErrRestored) != tc.fails || (err != nil) != tc.fails {
				t.Errorf("the process ends with %v", err)
			}
		})
	}
}
