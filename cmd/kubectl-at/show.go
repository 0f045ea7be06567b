// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/manifest"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/timespec"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/visible"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/workload"
)

func catVerb() verb {
	return verb{
		use: "cat NAME", args: oneName,
		short:      "Print an At as YAML for Git",
		suggestFor: []string{"show"},
		long: `
			Print an At as YAML, without its status and what the API server adds, and with an absolute time, so that it can be
			kept in Git and applied elsewhere.`,
		run: func(r *request) error {
			object := newAtObject()
			if err := r.get(object); err != nil {
				return err
			}
			source, err := manifest.Of(object)
			if err != nil {
				return err
			}
			data, err := toYAML(source)
			if err != nil {
				return fmt.Errorf("writing YAML: %w", err)
			}
			_, err = r.data().Write(data)
			return err
		},
	}
}

// newAtObject returns an At that also holds fields that this version of the plugin does not know.
func newAtObject() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(atKind)
	return object
}

// toYAML returns a value as YAML. The library takes control characters only if they are escaped in JSON.
func toYAML(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML([]byte(strings.ReplaceAll(visible.Escape(string(data), "\x7f"), "\x7f", `\u007f`)))
}

func approveVerb() verb {
	resourceVersion := ""
	return verb{
		use: "approve NAME", args: oneName, operation: "approved",
		short:      "Show a suspended At, and release exactly what was shown",
		suggestFor: []string{"accept", "review"},
		long: `
			Show what a suspended At will run, ask, and release exactly this version. If the At has changed meanwhile, it stays
			suspended. The annotation cnat.d2iq.com/approved-by names the user.

			In a namespace with two keys, this needs a user other than the requester, with the verb approve on ats. In a script,
			--resource-version takes the place of the question.`,
		example: `
			# Show what an At will run, and release it after a question
			kubectl at approve at-7gk2p

			# Show it only
			kubectl at approve at-7gk2p --dry-run

			# Release the version that was shown
			kubectl at approve at-7gk2p --resource-version 4711`,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringVar(&resourceVersion, "resource-version", "", "Version to release without a question: the one that was shown.")
		},
		run: func(r *request) error {
			at, err := r.approve(resourceVersion)
			if err != nil {
				return err
			}
			prefix := "approved: "
			if r.dryRun == cmdutil.DryRunClient {
				prefix = "not checked whether you may approve it: "
			}
			return r.reportDue(at, prefix, nil)
		},
	}
}

// approve shows an At and releases this version of it.
func (r *request) approve(resourceVersion string) (*cnatv1alpha1.At, error) {
	object := newAtObject()
	if err := r.get(object); err != nil {
		return nil, err
	}
	at := &cnatv1alpha1.At{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, at); err != nil {
		return nil, fmt.Errorf("reading at/%s: %w", object.GetName(), err)
	}
	if err := canBeApproved(at, resourceVersion, r.clock.Now()); err != nil {
		return nil, err
	}
	user, err := r.userName(r.ctx())
	if err != nil {
		return nil, err
	}
	if err := r.show(at, object); err != nil {
		return nil, err
	}
	if resourceVersion == "" && r.dryRun == cmdutil.DryRunNone {
		if err := r.confirm(at); err != nil {
			return nil, err
		}
	}
	base := at.DeepCopy()
	at.Spec.Suspend = ptr.To(false)
	metav1.SetMetaDataAnnotation(&at.ObjectMeta, cnatv1alpha1.AnnotationApprovedBy, user)
	err = r.patch(at, base)
	if apierrors.IsConflict(err) {
		return nil, fmt.Errorf("at/%s has changed since it was shown, and is not approved", at.Name)
	}
	return at, err
}

// canBeApproved returns an error about an At that does not wait for an approval, or that has not the version that is to
// be approved.
func canBeApproved(at *cnatv1alpha1.At, resourceVersion string, now time.Time) error {
	if err := hasNotStarted(at); err != nil {
		return err
	}
	switch {
	case !ptr.Deref(at.Spec.Suspend, false):
		return fmt.Errorf("at/%s is not suspended: it needs no approval", at.Name)
	case isTooLate(at, dueTime(at), now):
		return fmt.Errorf("at/%s cannot run any more, because its starting deadline is over: \"kubectl at reschedule %s TIME\" gives it another time", at.Name, at.Name)
	case resourceVersion != "" && resourceVersion != at.ResourceVersion:
		return fmt.Errorf("invalid --resource-version %s: at/%s has changed to version %s, and is not approved", resourceVersion, at.Name, at.ResourceVersion)
	}
	return nil
}

// show prints what an At will run: in short, and its whole spec.
func (r *request) show(at *cnatv1alpha1.At, object *unstructured.Unstructured) error {
	location, err := r.location()
	if err != nil {
		return err
	}
	source, err := manifest.Of(object)
	if err != nil {
		return err
	}
	spec, err := toYAML(source["spec"])
	if err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	due, image, account, problem := "<unknown>", "chosen by the operator", "default", stalled(at)
	if isUnseen(at) || isOutdated(at) {
		problem = "unknown: the operator has not seen this version yet"
	}
	if t := dueTime(at); !t.IsZero() {
		due = fmt.Sprintf("%s (%s)", timespec.Format(t.In(location)), timespec.Distance(t, r.clock.Now()))
	}
	var notFixed []string
	if at.Spec.Template != nil {
		notFixed = workload.NotFixed(&at.Spec.Template.Spec)
		image = workload.Images(&at.Spec.Template.Spec)
		account = cmp.Or(at.Spec.Template.Spec.ServiceAccountName, at.Spec.Template.Spec.DeprecatedServiceAccount, account)
	}
	text := properties([][2]string{
		{"Name", at.Name},
		{"Namespace", at.Namespace},
		{"Requested by", cmp.Or(at.Annotations[cnatv1alpha1.AnnotationRequestedBy], none)},
		{"Time", due},
		{"Command", commandLine(at)},
		{"Image", image},
		{"Service account", account},
		{"Resource version", at.ResourceVersion},
		{"Not fixed", strings.Join(notFixed, ", ")},
		{"Problem", problem},
	}) + "Spec:\n  " + strings.ReplaceAll(strings.TrimSpace(string(spec)), "\n", "\n  ") + "\n"
	out := r.Out
	if r.printer != nil {
		out = r.ErrOut // Standard output is for -o.
	}
	_, err = io.WriteString(out, text)
	return err
}

// properties returns lines of names and values, without the values that are empty.
func properties(rows [][2]string) string {
	var text strings.Builder
	tab := printers.GetNewTabWriter(&text)
	for _, row := range rows {
		if row[1] != "" {
			_, _ = fmt.Fprintf(tab, "%s:\t%s\n", row[0], printable(row[1])) // A strings.Builder returns no error.
		}
	}
	_ = tab.Flush()
	return text.String()
}

// confirm asks on standard error for the approval of an At that was shown, and reads the answer from standard input.
func (r *request) confirm(at *cnatv1alpha1.At) error {
	_, _ = fmt.Fprintf(r.ErrOut, "Release at/%s? [y/N] ", at.Name)
	line, err := bufio.NewReader(cmp.Or[io.Reader](r.In, strings.NewReader(""))).ReadString('\n')
	switch answer := strings.ToLower(strings.TrimSpace(line)); {
	case answer == "y" || answer == "yes":
		return nil
	case err != nil && line == "":
		return fmt.Errorf("at/%s is not approved: standard input has no answer; in a script, use --resource-version %s", at.Name, at.ResourceVersion)
	}
	return fmt.Errorf("at/%s is not approved", at.Name)
}
