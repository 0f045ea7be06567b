// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/redhat/podset-operator/internal/testutil"
)

func TestCanCoalesce(t *testing.T) {
	set := testutil.MakePodSet("a")
	made := func() *testutil.PodBuilder { return pod(set, 0) }
	for title, tc := range map[string]struct {
		before, after *corev1.Pod
		want          bool
	}{
		"it runs":                          {made().Obj(), made().Running().Unready().Obj(), true},
		"it becomes Ready":                 {made().Running().Unready().Obj(), made().Running().Obj(), true},
		"it restarts and stays Ready":      {made().Running().Obj(), made().Running().Restarts(1).Obj(), true},
		"it goes on terminating":           {made().Terminating().Obj(), made().Terminating().Restarts(1).Obj(), true},
		"it terminates and ends":           {made().Finished(corev1.PodFailed, "").Obj(), made().Finished(corev1.PodFailed, "").Terminating().Obj(), false},
		"it stops being Ready":             {made().Running().Obj(), made().Running().Unready().Obj(), false},
		"its deletion begins":              {made().Obj(), made().Terminating().Obj(), false},
		"it has failed":                    {made().Running().Unready().Obj(), made().Finished(corev1.PodFailed, "").Obj(), false},
		"it has failed before":             {made().Finished(corev1.PodFailed, "").Obj(), made().Finished(corev1.PodFailed, "").Obj(), true},
		"its controller is taken away":     {made().Obj(), testutil.MakePod("x").Obj(), false},
		"its image cannot be pulled":       {made().Obj(), made().Waiting("ImagePullBackOff").Obj(), false},
		"its image cannot be pulled again": {made().Waiting("ErrImagePull").Obj(), made().Waiting("ImagePullBackOff").Obj(), true},
	} {
		if got := CanCoalesce(tc.before, tc.after); got != tc.want {
			t.Errorf("%s: CanCoalesce = %t, want %t", title, got, tc.want)
		}
	}
}
