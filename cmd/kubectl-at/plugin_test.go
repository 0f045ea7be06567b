// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/timespec"
)

func TestHelp(t *testing.T) {
	for _, command := range []string{"", "list", "rm", "cat", "logs", "wait", "suspend", "resume", "reschedule", "completion", "options"} {
		t.Run(command, func(t *testing.T) {
			got := execute(t.Context(), saturday(), "", append(strings.Fields(command), "--help")...)
			golden(t, "help/"+strings.TrimSuffix("kubectl-at-"+command, "-")+".txt", got.out+got.errOut)
		})
	}
}

var helpFlag = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+)=`)

// docs/kubectl-at.md describes a flag in a code span that begins with it.
func TestEveryFlagIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/kubectl-at.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/help/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		help, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range helpFlag.FindAllSubmatch(help, -1) {
			found++
			if flag := string(match[1]); !regexp.MustCompile("`--" + flag + "[` =]").Match(page) {
				t.Errorf("docs/kubectl-at.md does not describe --%s of %s", flag, file)
			}
		}
	}
	if found < 20 {
		t.Errorf("the help has only %d flags", found)
	}
}

func TestAMistakeIsNamed(t *testing.T) {
	s := newShell(t)
	for args, want := range map[string]string{
		"-- true":                       "the time is missing; examples: ",
		"tomorow -- true":               `the time is not understood at "tomorow"; examples: `,
		"10:00 today -- true":           `Sat 21 Nov 2026 10:00 CET is in the past; use "now" to run at once`,
		"now -t 202611280200 -- true":   `the time is given twice: "now", and -t 202611280200`,
		"now --tz Mars/Phobos -- true":  "--tz: unknown time zone Mars/Phobos; it takes a name such as Europe/Berlin, America/New_York, or UTC",
		"now":                           "the command is missing: put it after --, pipe a script into standard input, or name a file with --file",
		"now -f script.sh -- true":      "the command is given twice: by --file, and after --",
		"now -f no-such-file":           "reading the script: open no-such-file: no such file or directory",
		"now --env A=b -- true":         "--env and --serviceaccount need --from or --image: without these, the operator decides about the pod",
		"now --deadline 1ms -- true":    "--deadline 1ms: it is a number of whole seconds from 1s",
		"now --ttl -1s -- true":         "--ttl -1s: it is a number of whole seconds from 0s",
		"now --wait --suspend -- true":  "--wait goes without --dry-run and --suspend: nothing would run",
		"now --wait --ttl 30s -- true":  "--wait goes with a --ttl of 1m or more, not 30s: the At might be deleted before its outcome is read",
		"now -v 6 -- true":              "unknown shorthand flag: 'v' in -v",
		"now --from deploy/web -- true": `deployments.apps "web" not found`,
		"now --retries 11 -- true":      "spec.backoffLimit: Invalid value: 11",
		"list -o wide -w -o json":       "--watch shows a table: it goes with -o wide, and without -o json",
		"rm no-such-at":                 `ats.cnat.d2iq.com "no-such-at" not found`,
		"wait no-such-at":               `ats.cnat.d2iq.com "no-such-at" not found`,
		"logs no-such-at":               `ats.cnat.d2iq.com "no-such-at" not found`,
		"logs -f no-such-at":            `ats.cnat.d2iq.com "no-such-at" not found`,
		"now -o wide -- true":           `unable to match a printer suitable for the output format "wide"`,
		"now -o jsonpath={.bad -- true": "error parsing jsonpath {.bad",
		"now --no-such-flag":            "unknown flag: --no-such-flag\nSee 'kubectl at --help' for usage.",
		"cat":                           "accepts 1 arg(s), received 0",
		"completion tcsh":               `invalid argument "tcsh" for "kubectl at completion"`,
	} {
		if got := s.run("", strings.Fields(args)...); got.code != 1 || !strings.Contains(got.errOut, want) || got.out != "" {
			t.Errorf("kubectl at %s: got %+v\nwant %s", args, got, want)
		}
	}
}

func TestNothingIsCreatedIfItCannotBePrinted(t *testing.T) {
	s := newShell(t)
	if got := s.run("", "now", "--name", "a", "-o", "wide", "--", "true"); got.code != 1 {
		t.Errorf("got %+v", got)
	}
	s.expect(result{errOut: "No Ats found in " + s.namespace + " namespace.\n"}, "", "list")
	s.expect(result{out: "At a"}, "", "now", "--name", "a", "--template", "{{.kind}} {{.metadata.name}}", "--", "true")
}

func TestAScriptThatIsEmptyIsNotTheProgramOfTheContainer(t *testing.T) {
	s := newShell(t)
	want := "the script on standard input is empty; to run the program of the container, read from nothing: </dev/null\n"
	s.expect(result{errOut: want, code: 1}, " \n", "now", "--image", "web")
	if got := s.run("", "now", "--image", "web"); got.code != 0 {
		t.Errorf("without standard input: got %+v", got)
	}
}

func TestAnAtIsCreated(t *testing.T) {
	s := newShell(t)
	s.expect(result{out: "at/a runs at Sun 22 Nov 2026 02:00 CET (in 9h 12m)\n"}, "", "tomorrow", "02:00", "--name", "a", "--", "sh", "-c", "echo '$HOME'; exit 3")
	got := s.at("a").Spec
	if got.Schedule != "2026-11-22T02:00:00+01:00" || got.Command != `sh -c 'echo '\''$HOME'\''; exit 3'` || got.Template != nil {
		t.Errorf("got %+v", got)
	}

	s.expect(result{out: "at/b runs at Sat 21 Nov 2026 23:30 CET (in 6h 42m)\n"}, "backup.sh && notify\n", "23:30", "--name", "b")
	if got := s.at("b").Spec.Command; got != "sh -c 'backup.sh && notify\n'" {
		t.Errorf("got %q", got)
	}

	s.expect(result{out: "at/c runs at Sat 28 Nov 2026 02:00:07 CET (in 6d 9h), suspended\n"}, "", "-t", "202611280200.07", "--name", "c", "--suspend",
		"--retries", "2", "--deadline", "30m", "--starting-deadline", "10m", "--ttl", "24h", "--image", "alpine", "--env", "A=b", "--serviceaccount", "robot", "--", "true")
	got = s.at("c").Spec
	if *got.BackoffLimit != 2 || *got.ActiveDeadlineSeconds != 1800 || *got.StartingDeadlineSeconds != 600 || *got.TTLSecondsAfterFinished != 86400 || !*got.Suspend {
		t.Errorf("got %+v", got)
	}
	if pod := got.Template.Spec; pod.ServiceAccountName != "robot" || pod.Containers[0].Image != "alpine" || pod.Containers[0].Env[0].Value != "b" {
		t.Errorf("got %+v", pod)
	}

	s.expect(result{out: "at.cnat.d2iq.com/d\n"}, "", "now", "--name", "d", "-o", "name", "--", "true")
	s.expect(result{}, "", "now", "--name", "e", "-q", "--", "true")

	s.now = time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	s.expect(result{out: "at/f runs at Sun 29 Mar 2026 03:30 CEST (in 13h 30m): 02:30 does not exist on Sun 29 Mar 2026: " +
		"the clocks go from 02:00 CET to 03:00 CEST. It runs at 03:30 CEST\n"}, "", "02:30", "--name", "f", "--", "true")
}

func TestADryRunCreatesNothing(t *testing.T) {
	s := newShell(t)
	s.expect(result{out: "at/at-????? runs at Sat 21 Nov 2026 16:48 CET (now) (dry run)\n"}, "", "now", "--dry-run=client", "--", "true")
	if got := s.run("", "now", "--dry-run=server", "--", "true"); !strings.Contains(got.out, "(now) (server dry run)\n") {
		t.Errorf("got %+v", got)
	}
	got := s.run("", "noon", "tomorrow", "--dry-run=client", "--image", "alpine", "-o", "yaml", "--", "echo", "a b")
	golden(t, "dry-run.yaml", strings.ReplaceAll(got.out, s.namespace, "NAMESPACE")+got.errOut)
	s.expect(result{errOut: "No Ats found in " + s.namespace + " namespace.\n"}, "", "list")
}

func TestTheCommandRunsWithAnApplicationsImageAndEnvironment(t *testing.T) {
	s := newShell(t)
	labels := map[string]string{"app": "web"}
	pod := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: *web()}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web"},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: pod},
	}
	spec := &deployment.Spec.Template.Spec
	spec.NodeName = ""
	spec.HostUsers, spec.ResourceClaims, spec.Containers[0].Resources.Claims = nil, nil, nil // Kubernetes 1.31 drops them.
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "db"},
		Spec: appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: *deployment.Spec.Template.DeepCopy(),
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			}}}},
	}
	if err := admin.Create(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	if err := admin.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	s.expect(result{out: "at/migrate runs at Sun 22 Nov 2026 02:00 CET (in 9h 12m)\n"}, "",
		"tomorrow", "02:00", "--from", "deploy/web", "--name", "migrate", "--", "bin/rails", "db:migrate")
	got := s.run("", "cat", "migrate")
	golden(t, "cat.yaml", strings.ReplaceAll(got.out, s.namespace, "NAMESPACE")+got.errOut)
	s.expect(result{
		out:    "at/dump runs at Sat 21 Nov 2026 16:48 CET (now)\n",
		errOut: "Warning: the volume \"data\" is left out: each pod of the StatefulSet db has its own\n",
	}, "", "now", "--from", "sts/db:web", "--name", "dump", "--", "true")

	for args, want := range map[string]string{
		"--from deploy/web --name own":                         "serve -p 80",
		"--from deploy/web --image web:2 --name other-image":   "(entrypoint of web:2)",
		"--image alpine --name image":                          "(entrypoint of alpine)",
		"--from deploy/web --image web:2 --name given -- true": "true",
	} {
		got := s.run("", append([]string{"now"}, strings.Fields(args)...)...)
		name, _, _ := strings.Cut(strings.TrimPrefix(got.out, "at/"), " ")
		if command := commandLine(s.at(name)); got.code != 0 || command != want {
			t.Errorf("kubectl at now %s: %+v runs %s, want %s", args, got, command, want)
		}
	}
}

func TestTheListIsSortedByTimeAndCountsDown(t *testing.T) {
	s := newShell(t)
	for _, args := range []string{
		"tomorrow 02:00 --name later -- echo later", "now + 90 seconds --name soon -- sh -c 'a_command_that_is_longer_than_the_table_shows'",
		"now --name done -- sh -c 'exit3'", "18:00 --name held --suspend -- true",
	} {
		if got := s.run("", strings.Fields(args)...); got.code != 0 {
			t.Fatal(got)
		}
	}
	s.setStatus("done", cnatv1alpha1.AtStatus{
		Phase: cnatv1alpha1.PhaseDone, Result: cnatv1alpha1.ResultFailed, Reason: cnatv1alpha1.ReasonNonZeroExitCode, ExitCode: ptr.To[int32](3), PodName: "done-pod",
	})
	s.setStatus("soon", cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhasePending})
	golden(t, "list.txt", s.run("", "list").out)
	golden(t, "list-wide.txt", s.run("", "list", "-o", "wide").out)
	s.expect(result{out: "at.cnat.d2iq.com/done\nat.cnat.d2iq.com/soon\nat.cnat.d2iq.com/held\nat.cnat.d2iq.com/later\n"}, "", "atq", "-o", "name")
	s.expect(result{out: "done soon held later"}, "", "list", "-o", "jsonpath={.items[*].metadata.name}")
	if got := s.run("", "list", "-A"); !strings.HasPrefix(got.out, "NAMESPACE") || strings.Count(got.out, s.namespace) != 4 {
		t.Errorf("got %+v", got)
	}
	s.expect(result{out: "later\n:4\n", errOut: "Completion ended with directive: ShellCompDirectiveNoFileComp\n"}, "", "__complete", "cat", "l")
	s.expect(result{out: "soon\n:4\n", errOut: "Completion ended with directive: ShellCompDirectiveNoFileComp\n"}, "", "__complete", "rm", "later", "s")
}

func TestANameIsTakenAsItIsPrinted(t *testing.T) {
	s := newShell(t)
	s.run("", "tomorrow", "--name", "a", "--", "true")
	s.expect(result{out: "at/a suspended\n"}, "", "suspend", "at/a")
	for _, command := range []string{"cat at/a", "resume ats/a", "reschedule at.cnat.d2iq.com/a tomorrow"} {
		if got := s.run("", strings.Fields(command)...); got.code != 0 {
			t.Errorf("kubectl at %s: got %+v", command, got)
		}
	}
	s.expect(result{errOut: "at/a has not started; with -f, the logs are followed from its start\n", code: 1}, "", "logs", "at/a")
	s.expect(result{errOut: "error: at/a is not done after 100ms\n", code: 124}, "", "wait", "at/a", "--timeout", "100ms")
	names := s.run("", "list", "-o", "name").out
	s.expect(result{out: "at/a deleted\n"}, "", "rm", strings.TrimSpace(names))
}

func TestARunningAtIsDeletedWithForceOnly(t *testing.T) {
	s := newShell(t)
	for _, name := range []string{"waits", "runs"} {
		s.run("", "tomorrow", "--name", name, "--", "true")
	}
	s.setStatus("runs", cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseRunning})
	s.expect(result{out: "at/waits deleted\n", errOut: "at/runs is running; --force deletes it and stops its command\n", code: 1}, "", "rm", "runs", "waits")
	s.expect(result{out: "at/runs deleted\n"}, "", "atrm", "--force", "runs")
}

func TestAnAtThatHasNotStartedCanBeChanged(t *testing.T) {
	s := newShell(t)
	s.run("", "18:00", "--name", "a", "--", "true")
	s.expect(result{out: "at/a suspended\n"}, "", "suspend", "a")
	s.expect(result{out: "at/a runs at Sat 21 Nov 2026 20:00 CET (in 3h 12m), suspended\n"}, "", "reschedule", "a", "8pm")
	s.expect(result{out: "resumed: at/a runs at Sat 21 Nov 2026 20:00 CET (in 3h 12m)\n"}, "", "resume", "a")
	s.expect(result{out: "at/a runs at Sun 22 Nov 2026 02:00 CET (in 9h 12m)\n"}, "", "reschedule", "a", "-t", "202611220200")
	s.expect(result{errOut: "the time is missing; examples: " + timespec.Examples + "\n", code: 1}, "", "reschedule", "a")
	s.setStatus("a", cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseRunning})
	s.expect(result{errOut: "at/a has started and cannot be changed\n", code: 1}, "", "suspend", "a")
	s.setStatus("a", cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseDone})
	s.expect(result{errOut: "at/a is done and cannot be changed\n", code: 1}, "", "resume", "a")
}

func TestWaitExitsAsTheCommandDoes(t *testing.T) {
	s := newShell(t)
	s.run("", "now", "--name", "a", "--", "true")
	s.expect(result{errOut: "error: at/a is not done after 100ms\n", code: 124}, "", "wait", "a", "--timeout", "100ms")
	s.setStatus("a", done(cnatv1alpha1.ResultSucceeded, cnatv1alpha1.ReasonCompleted, ptr.To[int32](0)))
	s.expect(result{out: "at/a succeeded\n"}, "", "wait", "a")
	s.setStatus("a", done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonNonZeroExitCode, ptr.To[int32](3)))
	s.expect(result{errOut: "error: at/a failed: NonZeroExitCode, exit code 3\n", code: 3}, "", "wait", "a")
	s.setStatus("a", done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonMissedDeadline, nil))
	s.expect(result{errOut: "error: at/a failed: MissedDeadline\n", code: 1}, "", "wait", "a")
	s.expect(result{errOut: "at/a was not run: MissedDeadline\n", code: 1}, "", "logs", "a")
}

func done(result cnatv1alpha1.Result, reason string, exit *int32) cnatv1alpha1.AtStatus {
	return cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseDone, Result: result, Reason: reason, ExitCode: exit}
}
