// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/redhat/podset-operator/internal/at/spec"
	"github.com/redhat/podset-operator/internal/testutil"
)

func TestPodName(t *testing.T) {
	for name, test := range map[string]struct {
		at      string
		attempt int
		want    string
	}{
		"the first attempt":                         {"at-sample", 0, "at-sample-pod"},
		"a retry":                                   {"at-sample", 1, "at-sample-pod-1"},
		"the last retry":                            {"at-sample", 10, "at-sample-pod-10"},
		"dots and a leading digit stay":             {"1.example.com", 0, "1.example.com-pod"},
		"63 characters are the longest":             {strings.Repeat("a", 59), 0, strings.Repeat("a", 59) + "-pod"},
		"64 are shortened":                          {strings.Repeat("a", 60), 0, strings.Repeat("a", 50) + "-a62345a1-pod"},
		"a retry is shortened on its own":           {strings.Repeat("a", 59), 1, strings.Repeat("a", 48) + "-a62345a1-pod-1"},
		"no dot comes to stand before the hash":     {strings.Repeat("a", 49) + "." + strings.Repeat("b", 60), 0, strings.Repeat("a", 49) + "-a62345a1-pod"},
		"nor several dashes":                        {strings.Repeat("a", 47) + "---" + strings.Repeat("b", 60), 0, strings.Repeat("a", 47) + "-a62345a1-pod"},
		"253 characters, the longest name of all":   {strings.Repeat("a", 253), 0, strings.Repeat("a", 50) + "-a62345a1-pod"},
		"253 characters and an attempt of 2 digits": {strings.Repeat("a", 253), 10, strings.Repeat("a", 47) + "-a62345a1-pod-10"},
	} {
		t.Run(name, func(t *testing.T) {
			a := testutil.MakeAt(test.at).Obj()
			a.UID = "0a1b2c3d"
			if got := spec.PodName(a, test.attempt); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// With another number of digits, the pod of a running At would have another name, and the command would run again.
func TestPodName_hash(t *testing.T) {
	a := testutil.MakeAt(strings.Repeat("a", 60)).Obj()
	a.UID = "000001eb"
	if got, want := spec.PodName(a, 0), strings.Repeat("a", 50)+"-00a18dcd-pod"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzPodName(f *testing.F) {
	f.Add("at-sample", "u", "at-sample", "v", 0, 1)
	f.Add("a-pod", "u", "a", "u", 1, 2)
	f.Add(strings.Repeat("a", 63), "u", strings.Repeat("a", 64), "v", 0, 0)
	f.Add(strings.Repeat("a.", 100)+"a", "u", strings.Repeat("a-", 30)+"a", "v", 10, 3)
	f.Fuzz(func(t *testing.T, name1, uid1, name2, uid2 string, attempt1, attempt2 int) {
		for _, name := range []string{name1, name2} {
			if len(validation.IsDNS1123Subdomain(name)) > 0 {
				t.Skip("not a name of an At")
			}
		}
		if min(attempt1, attempt2) < 0 || max(attempt1, attempt2) > 10 {
			t.Skip("no attempt")
		}
		pod := func(name, uid string, attempt int) string {
			a := testutil.MakeAt(name).Obj()
			a.UID = types.UID(uid)
			pod := spec.PodName(a, attempt)
			if problems := validation.IsDNS1123Subdomain(pod); len(pod) > 63 || len(problems) > 0 {
				t.Errorf("%q is not a valid pod name: %v", pod, problems)
			}
			return pod
		}
		pod1, pod2 := pod(name1, uid1, attempt1), pod(name2, uid2, attempt2)
		short := max(len(name1), len(name2)) <= 63-len("-pod-10")
		if short && pod1 == pod2 && (name1 != name2 || attempt1 != attempt2) {
			t.Errorf("%s attempt %d and %s attempt %d have the same pod %s", name1, attempt1, name2, attempt2, pod1)
		}
	})
}
