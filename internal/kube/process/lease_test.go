// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"testing"

	"k8s.io/client-go/rest"
)

// A restarted container continues with the lease of its predecessor. A second manager that runs in the same pod at the same time does not,
// because both would lead.
func TestOnlyTheOnlyManagerOfAPodContinuesWithTheLease(t *testing.T) {
	t.Setenv("POD_UID", t.Name())
	t.Setenv("POD_NAMESPACE", "default")
	lock := func() *LeaseLock {
		t.Helper()
		lock, err := PodLock(t.Context(), &rest.Config{}, true, "")
		if err != nil {
			t.Fatal(err)
		}
		return lock
	}
	first, second := lock(), lock()
	if first.onlyProcess == nil || second.onlyProcess != nil || first.Identity() == second.Identity() {
		t.Fatalf("both are the holder %q", first.Identity())
	}
	if err := first.onlyProcess.Close(); err != nil { // as the kernel does when the process ends
		t.Fatal(err)
	}
	next := lock()
	defer func() { _ = next.onlyProcess.Close() }()
	if next.Identity() != first.Identity() {
		t.Errorf("the restarted container is the holder %q, and the first one %q", next.Identity(), first.Identity())
	}
}
