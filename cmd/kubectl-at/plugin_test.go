// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/timespec"
	"github.com/redhat/podset-operator/internal/testutil"
)

func TestHelp(t *testing.T) {
	for _, command := range []string{"", "list", "rm", "cat", "rehearse", "logs", "wait", "suspend", "resume", "approve", "reschedule", "cancel", "rerun", "completion"} {
		t.Run(command, func(t *testing.T) {
			got := execute(t.Context(), saturday(), "", append(strings.Fields(command), "--help")...)
			golden(t, "help/"+strings.TrimSuffix("kubectl-at-"+command, "-")+".txt", got.out+got.errOut)
		})
	}
	for _, flag := range []string{"--tz ", "--namespace ", "--context ", "--help"} {
		if got := execute(t.Context(), saturday(), "", "options"); !strings.Contains(got.out, flag) {
			t.Errorf("kubectl at options: no %s in %+v", flag, got)
		}
	}
}

var helpFlag = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+)`)

// docs/kubectl-at.md describes a flag in a code span that begins with it.
func TestDocs_flags(t *testing.T) {
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

func TestMistakes(t *testing.T) {
	s := newShell(t)
	for args, want := range map[string]string{
		"-- true":                                         "missing TIME; examples: ",
		"fooday -- true":                                  `invalid time "fooday": expected a time of day, a date, or a step such as + 2 hours at "fooday"; examples: `,
		"now -t 202611280200 -- true":                     `--time cannot be combined with TIME "now"`,
		"now --tz Mars/Phobos -- true":                    `invalid --tz "Mars/Phobos": expected a name such as Europe/Berlin, America/New_York, or UTC, or an offset such as +05:30`,
		"now":                                             "missing COMMAND: put it after --, pipe a script into standard input, or name a file with --file",
		"now -f script.sh -- true":                        "--file cannot be combined with a command after --",
		"now -f no-such-file":                             "reading the script: open no-such-file: no such file or directory",
		"now --env A=b -- true":                           "--env, --label, --annotation, and --serviceaccount require --from or --image: without these, the operator decides about the pod",
		"now --label a=b -- true":                         "--env, --label, --annotation, and --serviceaccount require --from or --image: ",
		"now --uninterrupted -- true":                     "spec.activeDeadlineSeconds",
		"now --deadline 1ms -- true":                      "invalid --deadline 1ms: must be a whole number of seconds from 1s to 24855d",
		"now --ttl -1s -- true":                           "invalid --ttl -1s: must be a whole number of seconds from 0s to 24855d",
		"now --ttl 70000d -- true":                        "invalid --ttl 1680000h0m0s: must be a whole number of seconds from 0s to 24855d",
		"now --ttl 7 -- true":                             `invalid duration "7": expected a number with a unit, such as 90s, 30m, 12h, 7d, or 2w`,
		"now --wait --ttl 30s -- true":                    "invalid --ttl 30s: must be 1m or more with --wait, because the At might be deleted before its outcome is read",
		"now -v 6 -- true":                                "unknown shorthand flag: 'v' in -v",
		"now --from deploy/web -- true":                   `deployments.apps "web" not found`,
		"now --from at/no-such-at":                        `ats.cnat.d2iq.com "no-such-at" not found`,
		"now --retries 11 -- true":                        "spec.backoffLimit: Invalid value: 11: ",
		"now --retries -1 -- true":                        "spec.backoffLimit: Invalid value: -1: ",
		"now --retries 1 --retry-exit-codes 0,75 -- true": "spec.retryExitCodes[0]: Invalid value: 0: ",
		"now --retries 1 --retry-exit-codes 256 -- true":  "spec.retryExitCodes[0]: Invalid value: 256: ",
		"now --retry-exit-codes 75 -- true":               "--retry-exit-codes requires --retries: without it, nothing is tried again",
		"now --from deploy web -- true":                   `invalid --from "deploy": expected KIND/NAME or KIND/NAME:CONTAINER, such as deploy/web`,
		"now --image= -- true":                            `invalid --image "": must not be empty; is a variable empty?`,
		"now --from= -- true":                             `invalid --from "": must not be empty; is a variable empty?`,
		"now --image alpine --label team -- true":         `invalid --label "team": expected KEY=VALUE`,
		"now --image alpine --label team=a/b -- true":     `invalid --label "team=a/b": a valid label must be`,
		"now --image alpine --annotation /x=y -- true":    `invalid --annotation "/x=y": prefix part must be non-empty`,
		"list -l a==b=c":                                  `invalid --selector "a==b=c": `,
		"list -o custom-columns=NAME":                     `unable to match a printer suitable for the output format "custom-columns=NAME"`,
		"rm no-such-at":                                   `ats.cnat.d2iq.com "no-such-at" not found`,
		"rm a --dry-run=maybe":                            `Invalid dry-run value (maybe). Must be "none", "server", or "client".`,
		"rm pod/web":                                      `invalid NAME "pod/web": expected NAME or at/NAME`,
		"wait no-such-at":                                 `ats.cnat.d2iq.com "no-such-at" not found`,
		"wait no-such-at --timeout 0":                     `ats.cnat.d2iq.com "no-such-at" not found`,
		"logs no-such-at":                                 `ats.cnat.d2iq.com "no-such-at" not found`,
		"logs -f no-such-at":                              `ats.cnat.d2iq.com "no-such-at" not found`,
		"now -o wide -- true":                             `unable to match a printer suitable for the output format "wide"`,
		"suspend no-such-at -o wide":                      `unable to match a printer suitable for the output format "wide"`,
		"now -o jsonpath={.bad -- true":                   "error parsing jsonpath {.bad",
		"now --no-such-flag":                              "unknown flag: --no-such-flag; a command and its flags go after --; \"kubectl at -h\" lists the flags",
		"now ls -la":                                      "unknown shorthand flag: 'l' in -la; a command and its flags go after --",
		"02:00 bin/rails db:migrate":                      `invalid time "02:00 bin/rails db:migrate": expected a date or a step such as + 2 hours at "bin/rails"; a command goes after --: kubectl at 02:00 -- bin/rails db:migrate`,
		"10:00 today echo a":                              "; a command goes after --: kubectl at 10:00 today -- echo a",
		"10amx echo a":                                    `invalid time "10amx echo a": expected a date or a step such as + 2 hours at "amx"` + "\n",
		"next blue moon":                                  `invalid time "next blue moon": expected a weekday or a unit such as week at "blue"` + "\n",
		"now npm run x -- --all":                          "; a command goes after --: kubectl at now -- npm run x -- --all",
		"-t 202611280200 echo a":                          `--time cannot be combined with TIME "echo a"; a command goes after --: kubectl at -t 202611280200 -- echo a`,
		"--image -- true":                                 "the flag --image needs a value, and is followed by --\n",
		"now --env -- true":                               "the flag --env needs a value, and is followed by --\n",
		"now --deadline --image x":                        "the flag --deadline needs a value, and is followed by --image; ",
		"now --name --wait -- true":                       "the flag --name needs a value, and is followed by --wait\n",
		"-l":                                              "unknown shorthand flag: 'l' in -l; \"kubectl at list\" lists Ats; ",
		"-r 4":                                            "; \"kubectl at rm NAME\" deletes an At; ",
		"-d 4":                                            "; \"kubectl at rm NAME\" deletes an At; ",
		"-c 4":                                            "; \"kubectl at cat NAME\" prints an At; ",
		"-m now":                                          "; there is no mail, but an alert for a failed At: docs/monitoring.md; ",
		"-b":                                              "; \"kubectl at now -- COMMAND\" runs a command at once; ",
		"-q b 10:00 -- true":                              "; -q is --quiet here, because there are no queues\n",
		"02:00 tomorow -- true":                           "at \"tomorow\"; did you mean \"tomorrow\"?\n",
		"10:00 tomorrow Nov 30 -- true":                   "expected a step such as + 2 hours at \"Nov\"\n",
		"-t 202611280200 Nov 30 -- true":                  "--time cannot be combined with TIME \"Nov 30\"\n",
		"02:00 nightly -- true":                           "expected a date or a step such as + 2 hours at \"nightly\"\n",
		"0 2 a b c d -- true":                             "it looks like a schedule of cron, ",
		"edit a":                                          `"edit" is neither a time nor a command; did you mean "kubectl edit at NAME"?`,
		"describe a":                                      `did you mean "kubectl describe at NAME"?`,
		"run -- true":                                     `did you mean "kubectl at now -- COMMAND"?`,
		"create x":                                        `did you mean "kubectl at TIME... -- COMMAND"?`,
		"lst":                                             `"lst" is neither a time nor a command; did you mean "kubectl at list"?`,
		"get":                                             `"get" is neither a time nor a command; did you mean "kubectl at list"?`,
		"cancle a":                                        `"cancle" is neither a time nor a command; did you mean "kubectl at cancel"?`,
		"on friday at 9:00 -- true":                       `at "on"; leave out "on"`,
		"list a":                                          `unexpected argument "a"; usage: kubectl at list [flags]`,
		"-t 202611210000 -- true":                         `invalid time "202611210000": Sat 21 Nov 2026 00:00 CET is in the past; use "now" to run at once`,
		"now -f /dev/null":                                `invalid --file "/dev/null": must not be empty`,
		"now --time= -- true":                             `invalid --time "": must not be empty; is a variable empty?`,
		"rerun a -- true":                                 "unexpected command after --: rerun repeats the command of the At; to run another one, use kubectl at TIME... --from at/NAME -- COMMAND",
		"cat":                                             `missing NAME; usage: kubectl at cat NAME [flags]; "kubectl at list" shows the names`,
		"cat a b":                                         `unexpected argument "b"; usage: kubectl at cat NAME`,
		"logs":                                            "missing NAME; usage: kubectl at logs NAME",
		"rm":                                              "missing NAME; usage: kubectl at rm NAME...",
		"reschedule":                                      "missing NAME; usage: kubectl at reschedule NAME TIME...",
		"rerun":                                           "missing NAME; usage: kubectl at rerun NAME [TIME...]",
	} {
		if got := s.run("", strings.Fields(args)...); got.code != 1 || !strings.Contains(got.errOut, want) || got.out != "" {
			t.Errorf("kubectl at %s: got %+v\nwant %s", args, got, want)
		}
	}
}

func TestCreate_printer(t *testing.T) {
	s := newShell(t)
	if got := s.run("", "now", "--name", "a", "-o", "wide", "--", "true"); got.code != 1 {
		t.Errorf("got %+v", got)
	}
	s.expect(result{errOut: "No Ats found in " + s.namespace + " namespace.\n"}, "", "list")
	s.expect(result{out: "At a"}, "", "now", "--name", "a", "--template", "{{.kind}} {{.metadata.name}}", "--", "true")
}

func TestCreate_emptyScript(t *testing.T) {
	s := newShell(t)
	want := "invalid script in standard input: must not be empty; for the program of the container, use </dev/null\n"
	s.expect(result{errOut: want, code: 1}, " \n", "now", "--image", "web")
	if got := s.run("", "now", "--image", "web"); got.code != 0 {
		t.Errorf("without standard input: got %+v", got)
	}
}

func TestCreate(t *testing.T) {
	s := newShell(t)
	s.expect(result{out: "at/a runs at Sun 22 Nov 2026 02:00 CET (in 9h 12m)\n"}, "", "tomorrow", "02:00", "--name", "a", "--", "sh", "-c", "echo '$HOME'; exit 3")
	got := s.at("a").Spec
	if got.Schedule != "2026-11-22T02:00:00+01:00" || got.Command != `sh -c 'echo '\''$HOME'\''; exit 3'` || got.Template != nil {
		t.Errorf("got %+v", got)
	}

	s.expect(result{out: "at/b runs at Sat 21 Nov 2026 23:30 CET (in 6h 42m)\n"}, "backup.sh && notify\n", "23:30", "--name", "b")
	if got := s.at("b").Spec.Command; got != "sh -c 'backup.sh && notify'" {
		t.Errorf("got %q", got)
	}

	s.expect(result{out: "at/c runs at Sat 28 Nov 2026 02:00:07 CET (in 6d 9h), suspended\n"}, "", "-t", "202611280200.07", "--name", "c", "--suspend",
		"--retries", "2", "--deadline", "30m", "--uninterrupted", "--starting-deadline", "10m", "--ttl", "24h", "--image", "alpine", "--env", "A=b", "--serviceaccount", "robot", "--", "true")
	got = s.at("c").Spec
	if *got.BackoffLimit != 2 || *got.ActiveDeadlineSeconds != 1800 || *got.StartingDeadlineSeconds != 600 || *got.TTLSecondsAfterFinished != 86400 || !*got.Suspend || !*got.Uninterrupted {
		t.Errorf("got %+v", got)
	}
	if pod := got.Template.Spec; pod.ServiceAccountName != "robot" || pod.Containers[0].Image != "alpine" || pod.Containers[0].Env[0].Value != "b" {
		t.Errorf("got %+v", pod)
	}

	s.expect(result{out: "at/z runs at Sun 22 Nov 2026 12:00 +05:30 (in 14h 42m)\n"}, "", "noon", "tomorrow", "--tz", "+05:30", "--name", "z", "--", "true")
	s.expect(result{out: "at.cnat.d2iq.com/d\n"}, "", "now", "--name", "d", "-o", "name", "--", "true")
	s.expect(result{}, "", "now", "--name", "e", "-q", "--", "true")

	s.now = time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	s.expect(result{out: "at/f runs at Sun 29 Mar 2026 03:30 CEST (in 13h 30m): 02:30 does not exist on Sun 29 Mar 2026: " +
		"the clocks go from 02:00 CET to 03:00 CEST. It runs at 03:30 CEST\n"}, "", "02:30", "--name", "f", "--", "true")
}

func TestCreate_dryRun(t *testing.T) {
	s := newShell(t)
	s.expect(result{out: "at/at-????? runs at Sat 21 Nov 2026 16:48 CET (now) (dry run)\n"}, "", "now", "--dry-run=client", "--", "true")
	if got := s.run("", "now", "--dry-run=server", "--", "true"); !strings.Contains(got.out, "(now) (server dry run)\n") {
		t.Errorf("got %+v", got)
	}
	got := s.run("", "noon", "tomorrow", "--dry-run=client", "--image", "alpine", "-o", "yaml", "--", "echo", "a b")
	golden(t, "dry-run.yaml", strings.ReplaceAll(got.out, s.namespace, "NAMESPACE")+got.errOut)
	s.expect(result{errOut: "No Ats found in " + s.namespace + " namespace.\n"}, "", "list")
}

func TestFrom(t *testing.T) {
	s := newShell(t)
	labels := map[string]string{"app": "web"}
	pod := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: *testutil.Web()}
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
	const claim = "Warning: the volume data is the claim web (access modes unknown) of the application: while the application runs, the pod may wait for it, or both write to it\n"
	const omitted = claim + "Warning: not copied from the Deployment web: the init container init (--with init copies it), the container sidecar (--with sidecar copies it)\n"
	s.expect(result{out: "at/migrate runs at Sun 22 Nov 2026 02:00 CET (in 9h 12m)\n", errOut: omitted}, "",
		"tomorrow", "02:00", "--from", "deploy/web", "--name", "migrate", "--label", "team=db", "--annotation", "example.com/x=a=b,c", "--", "bin/rails", "db:migrate")
	got := s.run("", "cat", "migrate")
	golden(t, "cat.yaml", strings.ReplaceAll(got.out, s.namespace, "NAMESPACE")+got.errOut)
	s.expect(result{
		out:    "at/dump runs at Sat 21 Nov 2026 16:48 CET (now)\n",
		errOut: "Warning: not copied from the StatefulSet db: the volume data, of which each pod has its own, the init container init (--with init copies it), the container sidecar (--with sidecar copies it)\n",
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

func TestList(t *testing.T) {
	s := newShell(t)
	for _, args := range []string{
		"tomorrow 02:00 --name later -- echo later", "now + 90 seconds --name soon -- sh -c 'a_command_that_is_longer_than_the_table_shows'",
		"now --name done -- sh -c 'exit3'", "18:00 --name held --suspend -- true",
	} {
		if got := s.run("", strings.Fields(args)...); got.code != 0 {
			t.Fatal(got)
		}
	}
	status := done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonNonZeroExitCode, ptr.To[int32](3))
	status.PodName = "done-pod"
	s.setStatus("done", status)
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

func TestNames(t *testing.T) {
	s := newShell(t)
	s.run("", "tomorrow", "--name", "a", "--", "true")
	s.expect(result{out: "at/a suspended\n"}, "", "suspend", "at/a")
	for _, command := range []string{"cat at/a", "resume ats/a", "reschedule at.cnat.d2iq.com/a tomorrow"} {
		if got := s.run("", strings.Fields(command)...); got.code != 0 {
			t.Errorf("kubectl at %s: got %+v", command, got)
		}
	}
	s.expect(result{errOut: "at/a has not started; with -f, the logs are followed from its start\n", code: 1}, "", "logs", "at/a")
	s.expect(result{errOut: "error: at/a is not done after 100ms\n", code: 124}, "", "wait", "AT/a", "--timeout", "100ms")
	names := s.run("", "list", "-o", "name").out
	s.expect(result{out: "at/a deleted\n"}, "", "rm", strings.TrimSpace(names))
}

func TestRemove_running(t *testing.T) {
	s := newShell(t)
	for _, name := range []string{"waits", "runs"} {
		s.run("", "tomorrow", "--name", name, "--", "true")
	}
	s.setStatus("runs", cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseRunning, Attempts: 1})
	s.expect(result{out: "at/waits deleted\n", errOut: "at/runs is running; --force deletes it and stops its command\n", code: 1}, "", "rm", "runs", "waits")
	s.expect(result{out: "at.cnat.d2iq.com/runs\n"}, "", "rm", "--force", "runs", "-o", "name", "--dry-run")
	s.expect(result{out: "at/runs deleted\n"}, "", "atrm", "--force", "runs")
	notFound := `ats.cnat.d2iq.com "a" not found` + "\n"
	s.expect(result{errOut: notFound, code: 1}, "", "rm", "a", "a") // once
}

func TestReschedule(t *testing.T) {
	s := newShell(t)
	s.run("", "18:00", "--name", "a", "--", "true")
	s.expect(result{out: "at/a suspended\n"}, "", "suspend", "a")
	s.expect(result{out: "at/a runs at Sat 21 Nov 2026 20:00 CET (in 3h 12m), suspended\n"}, "", "reschedule", "a", "8pm")
	s.expect(result{out: "resumed: at/a runs at Sat 21 Nov 2026 20:00 CET (in 3h 12m)\n"}, "", "resume", "a")
	s.expect(result{out: "at/a runs at Sun 22 Nov 2026 02:00 CET (in 9h 12m)\n"}, "", "reschedule", "a", "-t", "202611220200")
	s.expect(result{errOut: "missing TIME; examples: " + timespec.Examples + "\n", code: 1}, "", "reschedule", "a")
	s.setStatus("a", cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseRunning, Attempts: 1})
	s.expect(result{errOut: "at/a has started and cannot be changed\n", code: 1}, "", "suspend", "a")
	s.setStatus("a", done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonEvicted, nil))
	s.expect(result{errOut: "at/a is done and cannot be changed\n", code: 1}, "", "resume", "a")
}

func TestWait(t *testing.T) {
	s := newShell(t)
	s.run("", "now", "--name", "a", "--", "true")
	s.expect(result{errOut: "error: at/a is not done after 100ms\n", code: 124}, "", "wait", "a", "--timeout", "100ms")
	s.expect(result{errOut: "error: at/a is not done after 0s\n", code: 124}, "", "wait", "a", "--timeout", "0")
	s.setStatus("a", done(cnatv1alpha1.ResultSucceeded, cnatv1alpha1.ReasonCompleted, ptr.To[int32](0)))
	s.expect(result{out: "at/a succeeded\n"}, "", "wait", "a")
	s.expect(result{out: "at/a succeeded\n"}, "", "wait", "a", "--timeout", "0")
	s.expect(result{out: "at/a succeeded\n"}, "", "wait", "a", "--timeout", "-1s")
	s.setStatus("a", done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonNonZeroExitCode, ptr.To[int32](3)))
	s.expect(result{errOut: "error: at/a failed: NonZeroExitCode, exit code 3\n", code: 3}, "", "wait", "a")
	s.setStatus("a", done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonMissedDeadline, nil))
	s.expect(result{errOut: "error: at/a failed: MissedDeadline\n", code: 1}, "", "wait", "a")
	s.expect(result{errOut: "at/a has no log: MissedDeadline\n", code: 1}, "", "logs", "a")
}

func TestOutcome(t *testing.T) {
	status := done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonStartError, ptr.To[int32](128))
	status.Conditions = []metav1.Condition{{Type: cnatv1alpha1.ConditionFailed, Status: metav1.ConditionTrue, Message: "could not be started: exec: \"nope\": not found\x1b[2J"}}
	err := outcome(&cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: status})
	if want := `error: at/a failed: StartError, exit code 128: could not be started: exec: "nope": not found\x1b[2J`; err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// The message of the operator says it once.
func TestOutcome_message(t *testing.T) {
	status := done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonNonZeroExitCode, ptr.To[int32](137))
	status.Conditions = []metav1.Condition{{Type: cnatv1alpha1.ConditionFailed, Status: metav1.ConditionTrue, Message: "the command ended with exit code 137 (SIGKILL)"}}
	err := outcome(&cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: status})
	if want := "error: at/a failed: NonZeroExitCode: the command ended with exit code 137 (SIGKILL)"; err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Nothing happens to such an At until a user changes it.
func TestWait_stalled(t *testing.T) {
	s := newShell(t)
	s.run("", "now", "--name", "a", "--", "true")
	stalled := func(reason string) cnatv1alpha1.AtStatus {
		conditions := []metav1.Condition{{Type: cnatv1alpha1.ConditionScheduled, Status: metav1.ConditionFalse}, {Type: cnatv1alpha1.ConditionStalled, Status: metav1.ConditionTrue}}
		for i := range conditions {
			conditions[i].Reason, conditions[i].Message, conditions[i].LastTransitionTime = reason, "volume mount conf not found", metav1.NewTime(s.now)
		}
		return cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhasePending, ObservedGeneration: 1, Conditions: conditions}
	}
	s.setStatus("a", stalled(cnatv1alpha1.ReasonInvalidTemplate))
	for _, command := range []string{"wait a", "wait a --timeout 0", "logs -f a", "logs a"} {
		if got := s.run("", strings.Fields(command)...); got.code != 1 || got.errOut != "at/a does not run: InvalidTemplate: volume mount conf not found\n" {
			t.Errorf("%s: got %+v", command, got)
		}
	}
	s.run("", "reschedule", "a", "tomorrow") // The operator has not seen this change.
	s.expect(result{errOut: "at/a waits: InvalidTemplate: volume mount conf not found\nerror: at/a is not done after 1s\n", code: 124}, "", "wait", "a", "--timeout", "1s")
	suspended := stalled(cnatv1alpha1.ReasonWouldBeRejected) // It can be resumed, and is checked again.
	suspended.Conditions[0].Reason = cnatv1alpha1.ReasonSuspended
	s.setStatus("a", suspended)
	s.expect(result{errOut: "at/a waits: Suspended: volume mount conf not found\nerror: at/a is not done after 1s\n", code: 124}, "", "wait", "a", "--timeout", "1s")
	s.setStatus("a", stalled(cnatv1alpha1.ReasonFailedCreate)) // The operator tries again.
	s.expect(result{errOut: "at/a waits: FailedCreate: volume mount conf not found\nerror: at/a is not done after 1s\n", code: 124}, "", "wait", "a", "--timeout", "1s")
}

var exitCodeRow = regexp.MustCompile(`(?m)^\| (\d+|of the command, 1 to 255) \|`)

// The table of exit codes in docs/kubectl-at.md has exactly these rows.
func TestDocs_exitCodes(t *testing.T) {
	s := newShell(t)
	for _, name := range []string{"good", "bad", "killed", "crashed", "large", "missed", "lost", "invalid", "waiting"} {
		s.run("", "now", "--name", name, "--", "true")
	}
	ran := func(reason string, status metav1.ConditionStatus) cnatv1alpha1.AtStatus {
		failed := done(cnatv1alpha1.ResultFailed, reason, nil)
		failed.Conditions = []metav1.Condition{{Type: cnatv1alpha1.ConditionCommandRan, Status: status, Reason: "Why", LastTransitionTime: metav1.NewTime(s.now)}}
		return failed
	}
	s.setStatus("good", done(cnatv1alpha1.ResultSucceeded, cnatv1alpha1.ReasonCompleted, ptr.To[int32](0)))
	s.setStatus("bad", done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonNonZeroExitCode, ptr.To[int32](3)))
	s.setStatus("killed", done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonOOMKilled, ptr.To[int32](137)))
	s.setStatus("crashed", done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonNonZeroExitCode, ptr.To[int32](-1073741819))) // on Windows
	s.setStatus("large", done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonNonZeroExitCode, ptr.To[int32](256)))           // would become 0
	s.setStatus("missed", ran(cnatv1alpha1.ReasonMissedDeadline, metav1.ConditionFalse))
	s.setStatus("lost", ran(cnatv1alpha1.ReasonPodLost, metav1.ConditionUnknown))
	s.setStatus("invalid", cnatv1alpha1.AtStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{
		{Type: cnatv1alpha1.ConditionScheduled, Status: metav1.ConditionFalse, Reason: "InvalidTemplate", LastTransitionTime: metav1.NewTime(s.now)},
		{Type: cnatv1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: "InvalidTemplate", LastTransitionTime: metav1.NewTime(s.now)},
	}})
	const codes = " --outcome-codes"
	rows := map[string]map[string]int{
		"10":                       {"wait bad" + codes: 10, "wait killed" + codes: 10, "wait large" + codes: 10, "wait bad -o json" + codes: 10},
		"11":                       {"wait missed" + codes: 11},
		"12":                       {"wait lost" + codes: 12, "wait no-such-at" + codes: 12},
		"13":                       {"wait invalid" + codes: 13, "now --wait --outcome-codes --retries 99 -- true": 13, "now --wait --outcome-codes --from deploy/no -- true": 13},
		"14":                       {"wait good --server http://127.0.0.1:1" + codes: 14, "now --wait --outcome-codes --server http://127.0.0.1:1 -- true": 14, "wait good -n forbidden --as nobody" + codes: 14},
		"0":                        {"wait good" + codes: 0, "wait good": 0, "wait good --timeout 0": 0, "list": 0, "logs --help": 0, "tomorrow --dry-run=client -- false": 0},
		"of the command, 1 to 255": {"wait bad": 3, "wait killed": 137, "wait bad --timeout 0": 3},
		"1": {"wait missed --no-such-flag" + codes: 1, "yesterdy --wait --outcome-codes -- true": 1, "now --outcome-codes -- true": 1,
			"wait missed": 1, "wait crashed": 1, "wait large": 1, "wait no-such-at": 1, "wait bad --no-such-flag": 1, "lst": 1, "logs waiting": 1, "wait": 1},
		"124": {"wait waiting --timeout 0" + codes: 124, "wait waiting --timeout 0": 124, "wait waiting --timeout 10ms": 124},
		"130": {}, // TestWait_interrupted
	}
	page, err := os.ReadFile("../../docs/kubectl-at.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, match := range exitCodeRow.FindAllSubmatch(page, -1) {
		documented = append(documented, string(match[1]))
	}
	if want := slices.Sorted(maps.Keys(rows)); !slices.Equal(slices.Compact(slices.Sorted(slices.Values(documented))), want) {
		t.Errorf("docs/kubectl-at.md has the rows %q, want %q", documented, want)
	}
	for _, commands := range rows {
		for command, want := range commands {
			if got := s.run("", strings.Fields(command)...); got.code != want {
				t.Errorf("kubectl at %s: got %+v, want the exit code %d", command, got, want)
			}
		}
	}
}

func TestWait_print(t *testing.T) {
	s := newShell(t)
	s.run("", "now", "--name", "a", "--", "true")
	s.setStatus("a", done(cnatv1alpha1.ResultSucceeded, cnatv1alpha1.ReasonCompleted, ptr.To[int32](0)))
	s.expect(result{out: "Succeeded"}, "", "wait", "a", "-o", "jsonpath={.status.result}")
	s.setStatus("a", done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonNonZeroExitCode, ptr.To[int32](3)))
	s.expect(result{out: "at.cnat.d2iq.com/a\n", errOut: "error: at/a failed: NonZeroExitCode, exit code 3\n", code: 3}, "", "wait", "a", "-o", "name")
	if got := s.run("", "wait", "a", "-o", "json"); !strings.Contains(got.out, `"exitCode": 3`) || !strings.Contains(got.out, `"kind": "At"`) {
		t.Errorf("got %+v", got)
	}
}

func TestChange_dryRun(t *testing.T) {
	s := newShell(t)
	s.run("", "tomorrow", "--name", "a", "--", "true")
	version := s.at("a").ResourceVersion
	var logged bytes.Buffer
	klog.LogToStderr(false)
	klog.SetOutput(&logged)
	defer klog.LogToStderr(true)
	for args, want := range map[string]string{
		"suspend a --dry-run":                             "at/a suspended (dry run)\n",
		"cancel a --dry-run=server":                       "at/a canceled (server dry run)\n",
		"cancel a --dry-run=server -o name":               "at.cnat.d2iq.com/a\n",
		"suspend a --dry-run -o jsonpath={.spec.suspend}": "true",
		"reschedule a tomorrow noon --dry-run=server":     "at/a runs at Sun 22 Nov 2026 12:00 CET (in 19h 12m) (server dry run)\n",
	} {
		s.expect(result{out: want}, "", strings.Fields(args)...)
	}
	if klog.Flush(); logged.Len() > 0 {
		t.Errorf("the command also prints\n%s", logged.String())
	}
	if got := s.at("a").ResourceVersion; got != version {
		t.Error("a dry run has changed the At")
	}
}

func TestCancel(t *testing.T) {
	s := newShell(t)
	s.run("", "tomorrow", "--name", "a", "--", "true")
	s.expect(result{out: "at/a canceled\n"}, "", "cancel", "a")
	if cancel := s.at("a").Spec.Cancel; cancel == nil || !*cancel {
		t.Errorf("spec.cancel is %v", cancel)
	}
	s.run("", "now", "--name", "b", "--", "true")
	s.setStatus("b", cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseRunning, Attempts: 1})
	s.expect(result{out: "at/b is being canceled: its command is stopped\n"}, "", "cancel", "b")
	s.expect(result{out: "at.cnat.d2iq.com/b\n"}, "", "cancel", "b", "-o", "name")
	for want, status := range map[string]cnatv1alpha1.AtStatus{
		"at/b canceled: it is not tried again\n": {Attempts: 1, RetryTime: ptr.To(metav1.NewTime(s.now))},
		"at/b is being canceled: its pod is stopped\n": {Attempts: 1, Conditions: []metav1.Condition{{
			Type: cnatv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: cnatv1alpha1.ReasonPodWaiting, LastTransitionTime: metav1.NewTime(s.now)}}},
	} {
		s.setStatus("b", status)
		s.expect(result{out: want}, "", "cancel", "b")
	}
	s.expect(result{errOut: "at/a is canceled and never runs\n", code: 1}, "", "resume", "a")
	if got := s.run("", "list", "--no-headers").out; !strings.Contains(got, "CET   <none>   <none>") {
		t.Errorf("a canceled At counts down: %s", got)
	}
	s.setStatus("b", done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonCanceled, nil))
	s.expect(result{errOut: "at/b is done and cannot be changed\n", code: 1}, "", "cancel", "b")
}

func TestRerun(t *testing.T) {
	s := newShell(t)
	s.run("", "now", "--name", "a", "--image", "web:1", "--retries", "2", "--retry-exit-codes", "75,3,75", "--deadline", "1d", "--", "bin/migrate")
	s.setStatus("a", done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonNonZeroExitCode, ptr.To[int32](3)))
	s.expect(result{out: "at/b runs at Sat 21 Nov 2026 16:48 CET (now)\n"}, "", "rerun", "at/a", "--name", "b")
	s.expect(result{out: "at/c runs at Sun 22 Nov 2026 02:00 CET (in 9h 12m), suspended\n"}, "", "rerun", "a", "tomorrow", "02:00", "--name", "c", "--suspend", "--retries", "1")
	s.expect(result{out: "at/d runs at Sat 21 Nov 2026 16:48 CET (now)\n"}, "", "now", "--from", "at/a", "--name", "d", "--image", "web:2", "--", "bin/check")
	for name, want := range map[string]struct {
		command, image, rerunOf string
		retries                 int32
	}{
		"b": {"bin/migrate", "web:1", "a", 2}, "c": {"bin/migrate", "web:1", "a", 1}, "d": {"bin/check", "web:2", "", 2},
	} {
		at := s.at(name)
		if at.Spec.Command != want.command || at.Spec.Template.Spec.Containers[0].Image != want.image || *at.Spec.BackoffLimit != want.retries ||
			at.Annotations["cnat.d2iq.com/rerun-of"] != want.rerunOf || *at.Spec.ActiveDeadlineSeconds != 86400 || !slices.Equal(at.Spec.RetryExitCodes, []int32{3, 75}) {
			t.Errorf("%s: got %+v %+v", name, at.Annotations, at.Spec)
		}
	}
	s.run("", "cancel", "c")
	s.run("", "rerun", "c", "--name", "e")
	if spec := s.at("e").Spec; spec.Cancel != nil || spec.Suspend != nil && *spec.Suspend {
		t.Errorf("the At is canceled or suspended as the one that it repeats: %+v", spec)
	}
}

func TestList_scripts(t *testing.T) {
	s := newShell(t)
	s.run("", "tomorrow 02:00", "--name", "a", "--", "echo", "a")
	s.run("", "now", "--name", "b", "--", "echo", "b")
	at := s.at("b")
	at.Labels = map[string]string{"team": "db"}
	if err := admin.Update(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	s.setStatus("b", cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseRunning, Conditions: []metav1.Condition{{
		Type: cnatv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: cnatv1alpha1.ReasonPodWaiting,
		Message: "pod b-pod is waiting: ImagePullBackOff: no such image", LastTransitionTime: metav1.NewTime(s.now),
	}}})
	for args, want := range map[string]string{
		"--no-headers -l team=db":                           "b     Sat 21 Nov 2026 16:48 CET   now   RUNNING   <none>   PodWaiting   echo b\n",
		"-l team=db -o name":                                "at.cnat.d2iq.com/b\n",
		"-l team!=db -o jsonpath={.items[*].metadata.name}": "a",
	} {
		s.expect(result{out: want}, "", append([]string{"list"}, strings.Fields(args)...)...)
	}
	s.expect(result{errOut: "No Ats found in " + s.namespace + " namespace.\n"}, "", "list", "-l", "team=no", "--no-headers")
}

func TestCompletion(t *testing.T) {
	s := newShell(t)
	s.run("", "tomorrow", "--name", "later", "--", "true")
	for args, want := range map[string]string{
		"list -n kube-s":                "kube-system",
		"list -o y":                     "yaml",
		"now -o js":                     "json",
		"list --context ":               "envtest",
		"now --from ":                   "deploy/",
		"now --from at/l":               "at/later",
		"now --from at.cnat.d2iq.com/l": "at.cnat.d2iq.com/later",
		"now --dry-run=s":               "server",
		"cat at/":                       "at/later",
		"cancel l":                      "later",
		"reschedule later tom":          "tomorrow",
		"rerun later ":                  "now",
	} {
		words := strings.Split(args, " ")
		if got := s.run("", append([]string{"__complete"}, words...)...); !slices.Contains(strings.Split(got.out, "\n"), want) {
			t.Errorf("kubectl at %s: got %q, want %s", args, got.out, want)
		}
	}
}

func done(result cnatv1alpha1.Result, reason string, exit *int32) cnatv1alpha1.AtStatus {
	return cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseDone, Result: result, Reason: reason, ExitCode: exit, CompletionTime: ptr.To(metav1.NewTime(saturday()))}
}

func TestReasonOf(t *testing.T) {
	ready := func(status metav1.ConditionStatus, reason string) cnatv1alpha1.AtStatus {
		return cnatv1alpha1.AtStatus{Conditions: []metav1.Condition{{Type: cnatv1alpha1.ConditionReady, Status: status, Reason: reason}}}
	}
	for name, test := range map[string]struct {
		status cnatv1alpha1.AtStatus
		want   string
	}{
		"it is new":                 {want: ""},
		"it waits for its time":     {status: ready(metav1.ConditionTrue, cnatv1alpha1.ReasonWaiting), want: "Waiting"},
		"its pod would be rejected": {status: ready(metav1.ConditionFalse, cnatv1alpha1.ReasonWouldBeRejected), want: "WouldBeRejected"},
		"it waits for its retry":    {status: ready(metav1.ConditionFalse, cnatv1alpha1.ReasonBackOff), want: "BackOff"},
		"it failed":                 {status: done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonEvicted, nil), want: "Evicted"},
	} {
		if got := reasonOf(&cnatv1alpha1.At{Status: test.status}); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
