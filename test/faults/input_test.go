// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

// F20: names at the limits lead to valid pods, or are rejected at admission.
func TestNames(t *testing.T) {
	long := strings.Repeat("a", 300)
	runCases(t, "F20", map[string]testCase{
		"sets": func(e *faults.Env) {
			e.Supervise()
			e.Check("P3", createError(e, podSet(long[:64], 1)) != nil, "a name of 64 characters was not rejected")
			e.Create(podSet(long[:63], 2), podSet("a.b.c", 1), podSet("1a", 1), podSet(long[:53]+"."+long[:9], 1))
			e.Quiesce()
			e.ExpectCounts(faults.Counts{Creates: 5})
		},
		"Ats": func(e *faults.Env) {
			e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
			e.Supervise()
			names := []string{long[:63], long[:64], long[:253], "a.b.c", "1a", long[:49] + "." + long[:200], long[:49] + "-" + long[:14]}
			for _, name := range names {
				e.Create(at(name, "now", "echo YAY"))
			}
			e.Settle()
			for _, name := range names {
				e.AwaitAt("A3", name, done(cnatv1alpha1.ReasonCompleted))
			}
			e.Quiesce()
			e.ExpectCounts(faults.Counts{Creates: len(names)})
		},
	})
}

// createError creates an object and returns the error of the API server.
func createError(e *faults.Env, object client.Object) error {
	object.SetNamespace(e.Namespace)
	return e.User.Create(e.Context(), object)
}

// F21: unusual schedules are rejected at admission, or parsed.
func TestSchedules(t *testing.T) {
	runCases(t, "F21", map[string]testCase{
		"rejected": func(e *faults.Env) {
			e.Supervise()
			for _, schedule := range []string{
				"", " ", "tomorrow", "2030-02-30T00:00:00Z", "2030-01-30T23:59:60Z", "2030-01-30T24:00:00Z", "2030-01-30 10:00:00Z",
				" 2030-01-30T10:00:00Z", "2030-01-30T10:00:00", "10000-01-01T00:00:00Z", "now + 1 year", "now + -1 seconds", "NOW",
				"2030-01-30T10:00:00+24:00", "２０３０-01-30T10:00:00Z", strings.Repeat("2", 1<<20),
			} {
				e.Check("A7", createError(e, at("a", schedule, "echo YAY")) != nil, "schedule %.80q was not rejected", schedule)
			}
			e.Quiesce()
			e.Check("A7", len(e.Log.All()) == 0, "the operator wrote:\n%s", e.Log)
		},
		"parsed": func(e *faults.Env) {
			e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
			e.Supervise()
			past := []string{
				"0001-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "2020-01-30T10:02:00+14:00", "2020-01-30t10:02:00z", "2020-02-29T00:00:00.123456789-23:59", "now",
			}
			future := []string{"9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59", "now + 999999999 weeks", "now+1day"}
			for i, schedule := range past {
				e.Create(at(fmt.Sprintf("past-%d", i), schedule, "echo YAY"))
			}
			for i, schedule := range future {
				e.Create(at(fmt.Sprintf("future-%d", i), schedule, "echo YAY"))
			}
			for i := range past {
				e.AwaitAt("A3", fmt.Sprintf("past-%d", i), done(cnatv1alpha1.ReasonCompleted))
			}
			for i := range future {
				e.AwaitAt("A2", fmt.Sprintf("future-%d", i), func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhasePending })
			}
			e.Wait(5 * time.Second)
			e.Check("A2", e.Counts().Creates == len(past), "%d pods for %d Ats that are due", e.Counts().Creates, len(past))
		},
		"with an offset": offsetSchedule,
	})
}

func offsetSchedule(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	e.Supervise()
	e.Create(at("a", "2020-01-30T10:02:00+01:00", "echo YAY"))
	e.Settle()
}

// commands are the commands of users and the words that the program must receive.
var commands = map[string][]string{
	`echo YAY`:                       {"echo", "YAY"},
	`echo "a b" 'c  d'`:              {"echo", "a b", "c  d"},
	`sh -c 'echo $HOME; date | cat'`: {"sh", "-c", "echo $HOME; date | cat"},
	`echo $(HOME) $$ $$(HOME)`:       {"echo", "$(HOME)", "$$", "$$(HOME)"},
	`a\ b "\"" '' "\$x"`:             {"a b", `"`, "", "$x"},
	"echo a;\n  b\tc":                {"echo", "a;", "b", "c"},
	"echo é 🎉":                       {"echo", "é", "🎉"},
	`# no comment * ~`:               {"#", "no", "comment", "*", "~"},
}

// F22: the program receives exactly the words of the user.
func TestCommands(t *testing.T) {
	runCases(t, "F22", map[string]testCase{
		"words": words,
		"rejected": func(e *faults.Env) {
			e.Supervise()
			for _, command := range []string{"", " ", "\n\t ", `"`, `echo 'a`, `echo a\`, "echo \x00", `'' a`, strings.Repeat("x", 32769), strings.Repeat("x", 1<<20)} {
				e.Check("A8", createError(e, at("a", "now", command)) != nil, "command %.40q was not rejected", command)
			}
			e.Quiesce()
			e.Check("A8", len(e.Log.All()) == 0, "the operator wrote:\n%s", e.Log)
		},
		"invalid UTF-8": invalidUTF8,
		"longest": func(e *faults.Env) {
			e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
			e.Supervise()
			e.Create(at("a", "now", strings.Repeat("$", 32768)), at("b", "now", "x "+strings.Repeat("a ", 16000)))
			e.Quiesce()
			e.ExpectCounts(faults.Counts{Creates: 2})
		},
	})
}

// invalidUTF8 posts invalid UTF-8. The API server rejects it in YAML. In JSON it stores each invalid byte as U+FFFD, which the
// program then receives.
func invalidUTF8(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	e.Supervise()
	e.Check("A8", post(e, "application/yaml", "kind: At\napiVersion: cnat.d2iq.com/v1alpha1\nmetadata: {name: a}\nspec: {schedule: now, command: 'echo \xff'}\n") != nil,
		"YAML with invalid UTF-8 was not rejected")
	e.Must(post(e, "application/json", `{"kind":"At","apiVersion":"cnat.d2iq.com/v1alpha1","metadata":{"name":"b"},"spec":{"schedule":"now","command":"echo a`+"\xff\xfe"+`b"}}`))
	e.AwaitAt("A8", "b", func(a *cnatv1alpha1.At) bool { return a.Spec.Command == "echo a\ufffd\ufffdb" })
	e.Quiesce()
	e.ExpectCounts(faults.Counts{Creates: 1})
	for _, pod := range e.Pods() {
		got, wanted := expand(pod.Spec.Containers[0]), []string{"echo", "a\ufffd\ufffdb"}
		e.Check("A8", cmp.Equal(wanted, got), "pod %s: %s", pod.Name, cmp.Diff(wanted, got))
	}
}

// post creates an At from bytes that no client library would send.
func post(e *faults.Env, contentType, body string) error {
	e.Helper()
	clients, err := kubernetes.NewForConfig(e.Cluster.Config)
	e.Must(err)
	path := fmt.Sprintf("/apis/%s/namespaces/%s/ats", cnatv1alpha1.GroupVersion, e.Namespace)
	return clients.RESTClient().Post().AbsPath(path).SetHeader("Content-Type", contentType).Body([]byte(body)).Do(e.Context()).Error()
}

func words(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	e.Supervise()
	wanted := map[string][]string{}
	for i, command := range slices.Sorted(mapKeys(commands)) {
		name := fmt.Sprintf("c%d", i)
		wanted[name+"-pod"] = commands[command]
		e.Create(at(name, "2020-01-30T10:02:00Z", command))
	}
	e.Settle()
	pods := e.Pods()
	e.Check("A8", len(pods) == len(wanted), "%d pods for %d commands", len(pods), len(wanted))
	for _, pod := range pods {
		got := expand(pod.Spec.Containers[0])
		e.Check("A8", cmp.Equal(wanted[pod.Name], got), "pod %s: %s", pod.Name, cmp.Diff(wanted[pod.Name], got))
	}
}

func mapKeys(m map[string][]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

// expand expands a command as the kubelet does: $(NAME) is a variable if it exists, and $$ is $.
func expand(c corev1.Container) []string {
	var words []string
	for _, word := range slices.Concat(c.Command, c.Args) {
		var out strings.Builder
		for i := 0; i < len(word); i++ {
			if word[i] != '$' || i+1 == len(word) {
				out.WriteByte(word[i])
				continue
			}
			if word[i+1] == '$' {
				i++
				out.WriteByte('$')
				continue
			}
			end := strings.IndexByte(word[i:], ')')
			if word[i+1] == '(' && end > 0 && slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == word[i+2:i+end] }) {
				i += end
				continue
			}
			out.WriteByte('$')
		}
		words = append(words, out.String())
	}
	return words
}

// F23: invalid specs are rejected. A status that a user wrote is computed again, and neither skips nor repeats a run.
func TestForgery(t *testing.T) {
	runCases(t, "F23", map[string]testCase{
		"replicas": func(e *faults.Env) {
			e.Supervise()
			for _, replicas := range []int32{0, 11, -1, 1<<31 - 1} {
				e.Check("P3", createError(e, podSet("a", replicas)) != nil, "replicas %d was not rejected", replicas)
			}
			set := podSet("a", 1)
			set.Spec.Replicas = nil
			e.Create(set)
			e.Quiesce()
			e.ExpectCounts(faults.Counts{Creates: 1})
		},
		"a forged PodSet status": func(e *faults.Env) {
			e.Supervise()
			set := podSet("a", 3)
			e.Create(set)
			e.Settle()
			faults.EditStatus(e, set, func(s *appv1alpha1.PodSet) {
				s.Status = appv1alpha1.PodSetStatus{PodNames: []string{"kubernetes"}, Replicas: 9, ReadyReplicas: 9}
			})
			e.AwaitSet("P7", "a", func(s *appv1alpha1.PodSet) bool { return s.Status.Replicas == 3 && s.Status.ReadyReplicas == 0 })
			e.Quiesce()
			e.ExpectCounts(faults.Counts{Creates: 3})
		},
		"a phase set back to PENDING":    forgedBack,
		"a phase set forward to RUNNING": forgedForward,
	})
}

func forgedBack(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	e.Supervise()
	a := at("a", "2020-01-30T10:02:00Z", "echo YAY")
	e.Create(a)
	e.Settle()
	e.Delete(&corev1.Pod{ObjectMeta: podKey(e, "a-pod")}, client.GracePeriodSeconds(0))
	faults.EditStatus(e, a, func(a *cnatv1alpha1.At) { a.Status.Phase = cnatv1alpha1.PhasePending })
	e.AwaitAt("A4", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhaseDone })
	e.Quiesce()
	e.ExpectCounts(faults.Counts{Creates: 1})
}

func forgedForward(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	e.Supervise()
	a := at("a", time.Now().Add(4*time.Second).UTC().Format(time.RFC3339), "echo YAY")
	e.Create(a)
	e.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhasePending })
	faults.EditStatus(e, a, func(a *cnatv1alpha1.At) { a.Status.Phase = cnatv1alpha1.PhaseRunning })
	e.AwaitAt("A3", "a", func(a *cnatv1alpha1.At) bool { return a.Status.Phase == cnatv1alpha1.PhaseDone })
	e.Quiesce()
	e.ExpectCounts(faults.Counts{Creates: 1})
}
