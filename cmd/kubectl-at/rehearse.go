// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	utilexec "k8s.io/client-go/util/exec"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/rehearsal"
)

const (
	rehearsalTimeout = 2 * time.Minute
	// lookImage has a busybox that is linked statically. That of the default tags is not.
	lookImage = "busybox:1.37-musl"
	// unknownExitCode is that of a rehearsal that has no answer.
	unknownExitCode = 3
)

// rehearser rehearses an At.
type rehearser struct {
	*request
	at      *cnatv1alpha1.At
	timeout time.Duration
	image   string // of the look for the program, or ""

	began    time.Time
	printed  map[string]bool
	noEvents bool // The user may not list them.
}

func rehearseVerb() verb {
	timeout, image, output := durationValue(rehearsalTimeout), "", ""
	return verb{
		use: "rehearse NAME", args: oneName,
		short: "Show whether an At would start, without running it",
		long: `
			Create the pod of an At that waits, with programs that cannot be executed: a node pulls the images, mounts the volumes,
			and sets up the user, and the container runtime refuses the last step. Then the pod is deleted. The images stay on the
			node.

			The exit code is 0 if the At would start, 1 if it would not, and 3 if that is not known after --timeout.`,
		example: `
			# Rehearse tonight's migration, and look for its program in the image
			kubectl at rehearse migrate --look-for-program`,
		flags: func(cmd *cobra.Command) {
			flags := cmd.Flags()
			flags.Var(&timeout, "timeout", "How long to wait, such as 5m.")
			flags.StringVar(&image, "look-for-program", "", "Also look whether the user of the container can execute the program, and whether it is for the node. The look needs an `IMAGE` with a static busybox.")
			flags.Lookup("look-for-program").NoOptDefVal = lookImage
			flags.StringVarP(&output, "output", "o", "", `Output format. Must be "json".`)
			completeValues(cmd, "output", "json")
		},
		run: func(r *request) error {
			at := &cnatv1alpha1.At{}
			switch {
			case output != "" && output != "json":
				return fmt.Errorf(`invalid --output %q: must be "json"`, output)
			case timeout <= 0:
				return errors.New("invalid --timeout: must be more than 0s")
			}
			if err := r.get(at); err != nil {
				return err
			}
			return r.rehearse(at, time.Duration(timeout), image, output != "")
		},
	}
}

// rehearse rehearses an At, and prints what that has shown. It leaves nothing, also after Ctrl-C.
func (r *request) rehearse(at *cnatv1alpha1.At, timeout time.Duration, image string, asJSON bool) error {
	switch template := at.Spec.Template; {
	case hasNotStarted(at) != nil:
		return fmt.Errorf("at/%s has started: only an At that waits can be rehearsed", at.Name)
	case template == nil || len(template.Spec.Containers) == 0:
		return fmt.Errorf("at/%s cannot be rehearsed: it has no template, so the operator decides about its pod; --image or --from sets one", at.Name)
	case template.Spec.OS != nil && template.Spec.OS.Name == corev1.Windows || template.Spec.NodeSelector[corev1.LabelOSStable] == string(corev1.Windows):
		return fmt.Errorf("at/%s cannot be rehearsed: its pod is for Windows", at.Name)
	}
	if problem := stalled(at); problem != "" {
		r.warn(problem)
	}
	ctx, stop := signal.NotifyContext(r.ctx(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	h := rehearser{request: r, at: at, timeout: timeout, image: image, began: r.clock.Now(), printed: map[string]bool{}}
	shown := h.run(limited)
	if ctx.Err() != nil {
		return utilexec.CodeExitError{Code: interruptedExitCode, Err: fmt.Errorf("the rehearsal of at/%s was interrupted", at.Name)}
	}
	return h.report(shown, asJSON)
}

// run asks the API server about the pod of the At, and rehearses it if the API server accepts it.
func (h *rehearser) run(ctx context.Context) (shown rehearsal.Shown) {
	err := h.Create(ctx, podOf(h.at), client.DryRunAll)
	isRejected := apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
	if may, mayErr := h.mayCreatePods(ctx); isRejected && (may || mayErr != nil) {
		shown.Findings = []rehearsal.Finding{{About: "pod", Reason: string(apierrors.ReasonForError(err)), Message: err.Error()}}
		return shown
	}
	if err != nil && !apierrors.IsAlreadyExists(err) { // That is decided last.
		shown.Unknown, _ = describe(err)
		return shown
	}
	if shown = h.once(ctx); shown.Look != "" && h.image != "" {
		h.warn("the programs are not looked for: " + shown.Look)
		h.image = ""
		shown = h.once(ctx)
	}
	if shown.Look != "" {
		shown.Unknown = "the API server accepts the pod of the At, but not that of the rehearsal: " + shown.Look
	}
	return shown
}

// once rehearses an At once. If the pod of the rehearsal is rejected, Look says why.
func (h *rehearser) once(ctx context.Context) (shown rehearsal.Shown) {
	pod := rehearsal.NewPod(h.at, h.timeout+time.Minute, h.image)
	created := pod.DeepCopy()
	defer h.remove(ctx, created) // also if the answer to the create was lost
	err := h.Create(ctx, created)
	if apierrors.IsAlreadyExists(err) { // An earlier rehearsal was killed.
		h.remove(ctx, created)
		err = h.Create(ctx, created)
	}
	if err != nil {
		shown.Look, _ = describe(err)
		return shown
	}
	shown.Waits = "a node"
	_ = wait.PollUntilContextCancel(ctx, time.Second/2, true, func(ctx context.Context) (bool, error) {
		found := &corev1.Pod{}
		switch err := h.Get(ctx, client.ObjectKeyFromObject(pod), found); {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err), err == nil && found.UID != created.UID:
			shown.Unknown = fmt.Sprintf("the pod %s was deleted, or you may not get pods (%v)", pod.Name, err)
			return true, nil
		case err != nil:
			return false, nil //nolint:nilerr // A lost connection is only later.
		}
		shown = rehearsal.Judge(pod, found, h.events(ctx, found))
		h.progress(&shown)
		return shown.IsSettled(), nil
	})
	return shown
}

// events returns the events of a pod, oldest first, or none if the user may not list them.
func (h *rehearser) events(ctx context.Context, pod *corev1.Pod) []corev1.Event {
	list := &corev1.EventList{}
	if pod.Spec.NodeName != "" && !h.noEvents {
		err := h.List(ctx, list, client.InNamespace(pod.Namespace), client.MatchingFields{"involvedObject.uid": string(pod.UID)})
		h.noEvents = apierrors.IsForbidden(err)
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	return list.Items
}

// progress prints what is new. A scheduler needs a moment to find a node.
func (h *rehearser) progress(shown *rehearsal.Shown) {
	line := func(text string) {
		if !h.printed[text] {
			h.printed[text] = true
			_, _ = fmt.Fprintln(h.ErrOut, printable(text))
		}
	}
	if shown.Waits != "" {
		line("waits for " + shown.Waits)
	}
	for _, f := range shown.Findings {
		if shown.Node != "" || shown.IsSettled() || h.clock.Since(h.began) > 3*time.Second {
			line(f.String())
		}
	}
}

// remove deletes the pod of a rehearsal at once, because none of its programs runs. It does not delete a pod of another
// owner.
func (h *rehearser) remove(ctx context.Context, pod *corev1.Pod) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		found := &corev1.Pod{}
		err := h.Get(ctx, client.ObjectKeyFromObject(pod), found)
		if err == nil && len(found.OwnerReferences) == 1 && found.OwnerReferences[0].UID == h.at.UID {
			err = h.Delete(ctx, found, client.GracePeriodSeconds(0), client.Preconditions{UID: &found.UID})
		}
		return err == nil || apierrors.IsNotFound(err), nil
	})
	if err != nil {
		h.warn(fmt.Sprintf("the pod %s may be left: \"kubectl delete pod %s -n %s\" deletes it", pod.Name, pod.Name, pod.Namespace))
	}
}

// report prints what a rehearsal has shown. The error that it returns has the exit code.
func (h *rehearser) report(shown rehearsal.Shown, asJSON bool) error {
	result, text, code := "WouldStart", "would start on node "+shown.Node, 0
	switch {
	case len(shown.Findings) > 0:
		result, text, code = "WouldNotStart", "would not start", 1
		for _, f := range shown.Findings {
			text += "\n  " + printable(f.String())
		}
	case !shown.IsSettled() || shown.Unknown != "":
		result, code = "NotKnown", unknownExitCode
		shown.Unknown = cmp.Or(shown.Unknown, fmt.Sprintf("after %s, it waits for %s", h.timeout, shown.Waits))
		text = "may start or not: " + printable(shown.Unknown)
	default:
		for _, c := range h.at.Spec.Template.Spec.Containers {
			text += fmt.Sprintf("\n  %s: %s", c.Name, cmp.Or(shown.Pulls[c.Name], "image "+c.Image))
		}
		for _, v := range h.at.Spec.Template.Spec.Volumes {
			text += "\n  volume " + v.Name + " is mounted"
		}
	}
	text = fmt.Sprintf("at/%s %s", h.at.Name, text)
	if asJSON {
		data, _ := json.MarshalIndent(map[string]any{"at": h.at.Name, "namespace": h.namespace, "result": result, "shown": shown}, "", "  ")
		_, _ = fmt.Fprintln(h.data(), string(data))
	} else if code == 0 {
		_, _ = fmt.Fprintln(h.Out, text)
	}
	if code == 0 {
		return nil
	}
	return utilexec.CodeExitError{Code: code, Err: errors.New(text)}
}
