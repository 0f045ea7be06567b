// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/timespec"
)

// answerFailed is the answer to a question that keeps Ats from running.
const answerFailed = "FAILED"

// checkPatience is how long the cluster may take to answer a question about the operator.
const checkPatience = 10 * time.Second

func checkVerb() verb {
	return verb{
		use: "check", args: noArguments,
		suggestFor: []string{"doctor", "diagnose", "status"},
		short:      "Find out why nothing happens",
		long: `
			Check whether the cluster has the kind and the operator, whether you may create Ats in the namespace, or only with two
			keys, and which Ats do not run, and why.

			The exit code is 1 if Ats cannot run, or cannot run until they are edited.`,
		example: `
			# Find out why nothing happens in a namespace
			kubectl at check -n team`,
		run: func(r *request) error {
			ctx, cancel := context.WithTimeout(r.ctx(), checkPatience)
			defer cancel()
			table := printers.GetNewTabWriter(r.Out)
			c := &checker{request: r, table: table}
			c.line("plugin", "ok", version)
			list := &cnatv1alpha1.AtList{}
			if err := c.List(ctx, list, client.InNamespace(c.namespace)); err != nil {
				c.error("Ats", answerFailed, err)
			} else {
				c.operator(ctx, slices.ContainsFunc(list.Items, func(at cnatv1alpha1.At) bool { return !isUnseen(&at) }))
				c.creation(ctx)
				c.ats(list.Items)
			}
			if err := table.Flush(); err != nil || !c.failed {
				return err
			}
			return errors.New("at least one check failed")
		},
	}
}

// checker prints a line for each question.
type checker struct {
	*request

	table  io.Writer
	failed bool
}

func (c *checker) line(question, answer, detail string) {
	c.failed = c.failed || answer == answerFailed
	_, _ = fmt.Fprintf(c.table, "%s\t%s\t%s\n", question, answer, printable(detail))
}

// error prints a line about a question that the cluster does not answer.
func (c *checker) error(question, answer string, err error) {
	message, _ := describe(err)
	c.line(question, answer, message)
}

// operator checks the Deployments of the operator. It can also run without one, and has then seen Ats.
func (c *checker) operator(ctx context.Context, hasSeenAts bool) {
	installations, err := c.installations(ctx)
	const none = "there is no Deployment with the label " + operatorLabel
	switch {
	case err != nil:
		c.error("operator", "unknown", err)
	case len(installations) == 0 && hasSeenAts:
		c.line("operator", "unknown", none+", but an operator has seen Ats of the namespace")
	case len(installations) == 0:
		c.line("operator", answerFailed, none)
	}
	for _, d := range installations {
		answer := "ok"
		if d.Status.ReadyReplicas == 0 {
			answer = answerFailed
		}
		c.line("operator", answer, fmt.Sprintf("%s (Deployment %s in the namespace %s), %d of its pods are ready",
			d.Spec.Template.Spec.Containers[0].Image, d.Name, d.Namespace, d.Status.ReadyReplicas))
	}
}

// operatorLabel is that of the Deployments of the operator.
const operatorLabel = "app.kubernetes.io/name=podset-operator"

// installations returns the Deployments of the operator.
func (c *cluster) installations(ctx context.Context) ([]appsv1.Deployment, error) {
	utilruntime.Must(appsv1.AddToScheme(scheme)) // here, because it takes time that the other verbs do not need
	list := &appsv1.DeploymentList{}
	err := c.List(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{LabelSelector: operatorLabel}})
	return list.Items, err
}

// creation creates an At as a dry run, which asks every admission policy. Two keys deny one that is not suspended.
func (c *checker) creation(ctx context.Context) {
	at := &cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, GenerateName: "check-"}, Spec: cnatv1alpha1.AtSpec{Schedule: "now", Command: "true"}}
	err := c.Create(ctx, at.DeepCopy(), client.DryRunAll)
	if err == nil {
		c.line("create Ats", "ok", "in the namespace "+c.namespace)
		return
	}
	at.Spec.Suspend = ptr.To(true)
	if user, err := c.userName(ctx); err == nil {
		metav1.SetMetaDataAnnotation(&at.ObjectMeta, cnatv1alpha1.AnnotationRequestedBy, user)
	}
	if c.Create(ctx, at, client.DryRunAll) == nil {
		c.line("create Ats", "ok", "two keys: with --suspend; another user releases them with kubectl at approve")
		return
	}
	c.error("create Ats", answerFailed, err)
}

// ats names the Ats that do not run, and why.
func (c *checker) ats(ats []cnatv1alpha1.At) {
	sortByTime(ats)
	failed, waiting := 0, 0
	for i := range ats {
		at := &ats[i]
		age, answer, detail := c.clock.Now().Sub(at.CreationTimestamp.Time), answerFailed, stalled(at)
		switch {
		case isUnseen(at) && age > operatorPatience:
			detail = fmt.Sprintf("no operator has seen it for %s: none runs, or none serves the namespace %s", timespec.FormatSeconds(int64(age/time.Second)), c.namespace)
		case detail == "" && heldBy(at) != "":
			answer, detail = "waits", heldBy(at)
		case detail == "":
			if atrun.IsDone(&at.Status) && at.Status.Result == cnatv1alpha1.ResultFailed {
				failed++
			}
			continue
		}
		waiting++
		c.line("at/"+at.Name, answer, detail)
	}
	c.line("Ats", "ok", fmt.Sprintf("%d in the namespace %s, %d failed, %d wait", len(ats), c.namespace, failed, waiting))
}
