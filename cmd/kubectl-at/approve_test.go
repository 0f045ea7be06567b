// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/apiserver"
)

// requireTwoKeys makes the namespace one with two keys, and waits until the policy is enforced.
func (s *shell) requireTwoKeys() {
	s.Helper()
	for _, object := range apiserver.Objects(s, resource.FilenameOptions{Filenames: []string{"../../config/components/two-keys/two_keys.yaml"}}) {
		if err := admin.Create(s.Context(), object); err != nil {
			s.Fatal(err)
		}
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace, Labels: map[string]string{"cnat.d2iq.com/two-keys": "required"}}}
	if err := admin.Update(s.Context(), namespace); err != nil {
		s.Fatal(err)
	}
	if err := wait.PollUntilContextTimeout(s.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return s.run("", "tomorrow", "--dry-run=server", "--", "true").code != 0, nil
	}); err != nil {
		s.Fatal("the policy is not enforced: ", err)
	}
}

// as returns the shell of a new user with verbs on ats.
func (s *shell) as(user string, verbs ...string) *shell {
	s.Helper()
	file, err := addUser(user)
	if err != nil {
		s.Fatal(err)
	}
	meta := metav1.ObjectMeta{Namespace: s.namespace, Name: user}
	for _, object := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"cnat.d2iq.com"}, Resources: []string{"ats"}, Verbs: verbs}}},
		apiserver.RoleBinding(s.namespace, user, "Role", user),
	} {
		if err := admin.Create(s.Context(), object); err != nil {
			s.Fatal(err)
		}
	}
	other := *s
	other.kubeconfig = file
	return &other
}

// answer is standard input: a user who answers yes, after something else has happened.
type answer func()

func (a answer) Read(p []byte) (int, error) {
	a()
	return copy(p, "y\n"), nil
}

func TestApprove(t *testing.T) {
	s := newShell(t)
	s.requireTwoKeys()
	edit := []string{"get", "list", "watch", "create", "patch", "delete"}
	alice, bob, dave := s.as("alice", edit...), s.as("bob", append(slices.Clone(edit), "approve")...), s.as("dave", edit...)
	request := strings.Fields("tomorrow 02:00 --name migrate --image shop:1.4 --serviceaccount robot --env A=b")

	if got := alice.run("", append(request, "--", "bin/migrate")...); got.code != 1 || !strings.Contains(got.errOut, "an At is created with spec.suspend: true") {
		t.Errorf("an At that is not suspended: got %+v", got)
	}
	alice.expect(result{out: "at/migrate runs at Sun 22 Nov 2026 02:00 CET (in 9h 12m), suspended\n"}, "", append(request, "--suspend", "--", "bin/migrate")...)
	version := s.at("migrate").ResourceVersion
	shown := bob.run("", "approve", "migrate", "--dry-run=server")
	golden(t, "approve.txt", strings.NewReplacer(s.namespace, "NAMESPACE", version, "4711").Replace(shown.out)+shown.errOut)

	if got := alice.run("", "approve", "migrate", "--dry-run"); !strings.HasSuffix(got.out, "\nnot checked whether you may approve it: at/migrate runs at Sun 22 Nov 2026 02:00 CET (in 9h 12m) (dry run)\n") {
		t.Errorf("a dry run of the requester: got %+v", got)
	}
	for _, test := range []struct {
		user     *shell
		in, args string
		want     string
	}{
		{alice, "y\n", "", "two keys: spec.suspend can be removed only by a user other than the requester alice"},
		{dave, "y\n", "", "with the verb approve on ats"},
		{dave, "", "--dry-run=server", "with the verb approve on ats"},
		{alice, "", "--resource-version " + version, "other than the requester alice"},
		{bob, "n\n", "", "at/migrate is not approved\n"},
		{bob, "\n", "", "at/migrate is not approved\n"},
		{bob, "", "", "at/migrate is not approved: standard input has no answer; in a script, use --resource-version " + version},
		{bob, "", "--resource-version 1", "invalid --resource-version 1: at/migrate has changed to version " + version + ", and is not approved"},
		{bob, "y\n", "--dry-run=perhaps", "Invalid dry-run value (perhaps). Must be"},
		{bob, "y\n", "-o wide", "unable to match a printer"},
	} {
		if got := test.user.run(test.in, append([]string{"approve", "migrate"}, strings.Fields(test.args)...)...); got.code != 1 || !strings.Contains(got.errOut, test.want) {
			t.Errorf("%q %s: got %+v\nwant %s", test.in, test.args, got, test.want)
		}
	}
	if at := s.at("migrate"); !*at.Spec.Suspend || at.ResourceVersion != version {
		t.Fatalf("the At is released or changed: %+v", at)
	}

	edited := answer(func() {
		alice.expect(result{out: "at/migrate runs at Sun 22 Nov 2026 03:00 CET (in 10h 12m), suspended\n"}, "", "reschedule", "migrate", "tomorrow 03:00")
	})
	if got := executeFrom(t.Context(), s.now, edited, append(bob.flags(), "approve", "migrate")...); got.code != 1 || !strings.Contains(got.errOut, "at/migrate has changed since it was shown, and is not approved\n") {
		t.Errorf("an edit after the question: got %+v", got)
	}
	if got := bob.run("y\n", "approve", "at/migrate"); got.code != 0 || !strings.HasSuffix(got.out, "\napproved: at/migrate runs at Sun 22 Nov 2026 03:00 CET (in 10h 12m)\n") {
		t.Errorf("got %+v", got)
	}
	if at := s.at("migrate"); *at.Spec.Suspend || at.Annotations["cnat.d2iq.com/requested-by"] != "alice" || at.Annotations["cnat.d2iq.com/approved-by"] != "bob" {
		t.Errorf("got %+v", at)
	}
	if got := bob.run("", "list", "-o", "wide").out; !strings.Contains(got, "REQUESTED BY") || !strings.Contains(got, "  alice ") || !strings.Contains(got, "  bob ") {
		t.Errorf("the list does not show who: %s", got)
	}
	bob.expect(result{errOut: "at/migrate is not suspended: it needs no approval\n", code: 1}, "y\n", "approve", "migrate")

	alice.run("", "rerun", "migrate", "--name", "again", "--suspend")
	if got := bob.run("", "approve", "again", "--resource-version", s.at("again").ResourceVersion, "-o", "name"); got.out != "at.cnat.d2iq.com/again\n" || !strings.Contains(got.errOut, "Requested by:") {
		t.Errorf("got %+v", got)
	}
	alice.run("", "suspend", "migrate")
	alice.expect(result{out: "at/migrate runs at Sun 22 Nov 2026 04:00 CET (in 11h 12m), suspended\n"}, "", "reschedule", "migrate", "tomorrow 04:00")
	alice.run("", "rerun", "migrate", "16:50", "--name", "late", "--suspend", "--starting-deadline", "5m")
	bob.now = bob.now.Add(8 * time.Minute)
	bob.expect(result{errOut: "at/late cannot run any more, because its starting deadline is over: \"kubectl at reschedule late TIME\" gives it another time\n", code: 1}, "y\n", "approve", "late")
	alice.run("", "rerun", "migrate", "--name", "never", "--suspend")
	dave.run("", "cancel", "never")
	bob.expect(result{errOut: "at/never is canceled and never runs\n", code: 1}, "y\n", "approve", "never")
}

// What the operator says is about the version that it has seen.
func TestApprove_outdated(t *testing.T) {
	s := newShell(t)
	s.run("", "tomorrow 02:00", "--name", "a", "--suspend", "--image", "shop", "--", "true")
	due := metav1.NewTime(saturday().Add(time.Hour))
	stalled := []metav1.Condition{{Type: cnatv1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: "WouldBeRejected", Message: "no quota", LastTransitionTime: due}}
	s.setStatus("a", cnatv1alpha1.AtStatus{ObservedGeneration: 1, ScheduledTime: &due, Conditions: stalled})
	if got := s.run("", "approve", "a", "--dry-run").out; !strings.Contains(got, "17:48 CET") || !strings.Contains(got, "WouldBeRejected: no quota") || !strings.Contains(got, "the image shop\n") {
		t.Errorf("got %s", got)
	}
	s.run("", "reschedule", "a", "tomorrow 03:00")
	if got := s.run("", "approve", "a", "--dry-run").out; strings.Contains(got, "17:48 CET") || strings.Contains(got, "no quota") ||
		!strings.Contains(got, "03:00 CET") || !strings.Contains(got, "unknown: the operator has not seen this version yet") {
		t.Errorf("got %s", got)
	}
}
