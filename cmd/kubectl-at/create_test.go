// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/testutil"
)

func TestStalled(t *testing.T) {
	condition := func(reason string) cnatv1alpha1.AtStatus {
		return cnatv1alpha1.AtStatus{Conditions: []metav1.Condition{
			{Type: cnatv1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: reason, Message: "why"},
		}}
	}
	done := condition(cnatv1alpha1.ReasonCanceled)
	done.Result, done.Reason, done.CompletionTime = cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonCanceled, &metav1.Time{}
	for title, tc := range map[string]struct {
		status cnatv1alpha1.AtStatus
		want   string
	}{
		"it waits":                          {cnatv1alpha1.AtStatus{}, ""},
		"its pod would be rejected":         {condition(cnatv1alpha1.ReasonWouldBeRejected), "WouldBeRejected: why"},
		"its schedule is invalid":           {condition(cnatv1alpha1.ReasonInvalidSchedule), "InvalidSchedule: why"},
		"it has failed: that is no warning": {done, ""},
	} {
		if got := stalled(testutil.MakeAt("a").Status(tc.status).Obj()); got != tc.want {
			t.Errorf("%s: %q", title, got)
		}
	}
}

func TestPodOf(t *testing.T) {
	at := testutil.MakeAt("a").Command("echo $HOME").Template(func(t *corev1.PodTemplateSpec) { t.Labels = map[string]string{"team": "x"} }, "main").Obj()
	pod := podOf(at)
	if pod.Name != "a-pod" || pod.Labels["team"] != "x" || pod.Labels["cnat.d2iq.com/at"] != "a" || pod.Spec.RestartPolicy != corev1.RestartPolicyNever || !proof.IsGated(pod) ||
		strings.Join(pod.Spec.Containers[0].Command, " ") != "echo $$HOME" {
		t.Errorf("%+v", pod)
	}
	at.Name, at.GenerateName = "", "at-"
	if pod := podOf(at); pod.Name != "" || pod.GenerateName != "at-" {
		t.Errorf("%+v", pod.ObjectMeta)
	}
}

func TestCreate_problem(t *testing.T) {
	s := newShell(t)
	got := s.run("", "noon", "tomorrow", "--dry-run=server", "--image", "alpine", "--env", "A=b", "--", "true")
	if got.code != 0 || got.errOut != "Warning: the pod of this At was not checked, because you have no permission to create pods\n" {
		t.Errorf("got %+v", got)
	}
	asAdmin := *s
	asAdmin.kubeconfig = adminKubeconfig
	command := []string{"noon", "tomorrow", "--dry-run=server", "--image", "alpine", "--serviceaccount", "No_Such", "--", "true"}
	if got := asAdmin.run("", command...); got.code != 1 || !strings.HasPrefix(got.errOut, "the API server would reject the pod of this At now, if you created it: ") {
		t.Errorf("got %+v", got)
	}
	if got := s.run("", "noon", "tomorrow", "--name", "a", "--", "true"); got.errOut != "" || s.at("a").Annotations[cnatv1alpha1.AnnotationRequestedBy] != "person" {
		t.Errorf("got %+v, annotations %v", got, s.at("a").Annotations)
	}
	s.setStatus("a", cnatv1alpha1.AtStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{
		{Type: cnatv1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: cnatv1alpha1.ReasonWouldBeRejected, Message: "quota", LastTransitionTime: metav1.Now()},
		{Type: cnatv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: cnatv1alpha1.ReasonWouldBeRejected, LastTransitionTime: metav1.Now(), ObservedGeneration: 1},
	}})
	p := newPlugin(genericiooptions.NewTestIOStreamsDiscard(), clocktesting.NewFakeClock(saturday()))
	*p.config.KubeConfig, *p.config.Namespace = kubeconfig, s.namespace
	cluster, err := p.connect()
	if err != nil {
		t.Fatal(err)
	}
	r := &request{plugin: p, cluster: cluster, cmd: &cobra.Command{}}
	r.cmd.SetContext(t.Context())
	if got := r.problemOf(s.at("a"), time.Minute); got != "WouldBeRejected: quota" {
		t.Errorf("got %q", got)
	}
	s.run("", "noon", "tomorrow", "--name", "b", "--", "true")
	if got := r.problemOf(s.at("b"), time.Millisecond); !strings.HasPrefix(got, "at/b is not checked yet: the operator has not answered yet; is podset-operator running, ") {
		t.Errorf("no operator: got %q", got)
	}
}

// losing is an API server whose responses to the creation of an At are lost. It may have created it.
type losing struct {
	creates bool

	mutex   sync.Mutex
	created []byte
}

func (l *losing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/ats"):
		l.created, _ = io.ReadAll(r.Body)
		panic(http.ErrAbortHandler)
	case r.Method == http.MethodGet && l.creates && strings.HasSuffix(r.URL.Path, "/ats/"+name(l.created)):
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(l.created)
	default:
		http.NotFound(w, r)
	}
}

func name(object []byte) string {
	at := &cnatv1alpha1.At{}
	_ = json.Unmarshal(object, at)
	return at.Name
}

// A user who does not know that an At was created creates another one, and the command runs twice.
func TestCreate_lostResponse(t *testing.T) {
	server := &losing{creates: true}
	listener := httptest.NewServer(server)
	defer listener.Close()
	got, code := ask(t, listener.URL, "now", "--", "true")
	if want := "at/" + name(server.created) + " runs at "; code != 0 || len(name(server.created)) != len("at-12345") || !strings.Contains(got, want) {
		t.Errorf("created: got %q with code %d, want %q", got, code, want)
	}
	server.creates = false
	if got, code = ask(t, listener.URL, "now", "--wait", "--outcome-codes", "--", "true"); code != 12 {
		t.Errorf("unknown: got %q with code %d", got, code)
	}
	got, code = ask(t, listener.URL, "now", "--", "true")
	if want := "error: at/" + name(server.created) + " may have been created, because the API server has not answered: "; code != 1 || !strings.HasPrefix(got, want) {
		t.Errorf("not found: got %q with code %d, want %q", got, code, want)
	}
}

// A CRD that is older than the plugin would drop a deadline without a word.
func TestSend_unknownField(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		at := testutil.MakeAt("a").Obj()
		at.SetGroupVersionKind(atKind)
		at.ResourceVersion = "7"
		var answer runtime.Object = at
		if r.Method != http.MethodGet && r.URL.Query().Get("fieldValidation") == metav1.FieldValidationStrict {
			status := apierrors.NewBadRequest(`At in version "v1alpha1" cannot be handled as a At: strict decoding error: unknown field "spec.uninterrupted"`).Status()
			status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			w.WriteHeader(int(status.Code))
			answer = &status
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	for _, command := range []string{"now --uninterrupted -- true", "now --dry-run=server -- true", "suspend a"} {
		got, code := ask(t, server.URL, strings.Fields(command)...)
		want := `strict decoding error: unknown field "spec.uninterrupted"; nothing was changed: the CRD in the cluster is older than this plugin (unknown), so update`
		if code != 1 || !strings.Contains(got, want) {
			t.Errorf("kubectl at %s: got %q with code %d", command, got, code)
		}
	}
}

func TestCreate_warnings(t *testing.T) {
	s := newShell(t)
	for args, want := range map[string]string{
		"now --name migrate-v1.4 -- true":                                 "metadata.name migrate-v1.4: this is used in Pod names and hostnames, ",
		"now --image Shop -- true":                                        `the image "Shop" has an invalid name, so no node can pull it`,
		"now --image registry:5000/a/b_c:v1.4 -- true":                    "",
		"now --image shop@sha256:" + strings.Repeat("0", 64) + " -- true": "",
	} {
		got := s.run("", append([]string{"--dry-run=client"}, strings.Fields(args)...)...)
		if !strings.HasPrefix(got.errOut, strings.Repeat("Warning: ", min(len(want), 1))+want) || want == "" && got.errOut != "" {
			t.Errorf("kubectl at %s: got %+v", args, got)
		}
	}
	if got := s.run("a\nb\n", "now", "--deadline", "5m", "--dry-run=client"); !strings.HasPrefix(got.errOut, "Warning: at the deadline, SIGTERM does not reach") {
		t.Errorf("got %+v", got)
	}
}

// A network policy and a wrapper of the application do not reach a copy.
func TestFrom_warnings(t *testing.T) {
	s := newShell(t)
	labels := map[string]string{"app": "web"}
	for _, object := range []client.Object{
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web"},
			Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "shop", Command: []string{"/cnb/lifecycle/launcher"}, Args: []string{"bin/serve"}}}},
			}},
		},
		&networkingv1.NetworkPolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web-to-database"},
			Spec:       networkingv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: labels}},
		},
	} {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	const wrapper = "Warning: the command takes the place of /cnb/lifecycle/launcher, which starts the program in the Deployment web: if it prepares the environment, put it before the command\n"
	command := strings.Fields("now --from deploy/web --dry-run=client -o name -- bin/migrate")
	if got := s.run("", command...); got.errOut != wrapper {
		t.Errorf("without permission to read policies: got %+v", got)
	}
	s.kubeconfig = adminKubeconfig
	if got := s.run("", command...); !strings.HasPrefix(got.errOut, wrapper+"Warning: the network policy web-to-database selects the pods of the Deployment web by labels that are not copied, ") {
		t.Errorf("got %+v", got)
	}
	for _, args := range []string{"--label app=web -- /cnb/lifecycle/launcher bin/migrate", "--label app=web"} {
		if got := s.run("", append(strings.Fields("now --from deploy/web --dry-run=client -o name"), strings.Fields(args)...)...); got.errOut != "" || got.code != 0 {
			t.Errorf("%s: got %+v", args, got)
		}
	}
}
