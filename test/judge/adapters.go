// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// adapter connects the judge to one way to run a command at a time.
type adapter struct {
	name    string
	retries int
	// waits is true if the object waits for the time of the run. A Job does not.
	waits bool
	// object is a new object whose pods have the template.
	object func(meta metav1.ObjectMeta, due time.Time, template corev1.PodTemplateSpec) client.Object
	// list returns what the objects of all runs claim, by the name of the run.
	list func(ctx context.Context, c client.Reader, namespace string) (map[string]claim, error)
	// postpone and cancel are JSON merge patches. postpone is empty if a new time would be another run.
	postpone func(due time.Time) string
	cancel   string
}

const label = "judge-run"

var adapters = []*adapter{atAdapter("at", 0), atAdapter("at-retries", 2), jobAdapter(), cronJobAdapter()}

func atAdapter(name string, retries int32) *adapter {
	return &adapter{
		name: name, retries: int(retries), waits: true, cancel: `{"spec":{"cancel":true}}`,
		object: func(meta metav1.ObjectMeta, due time.Time, template corev1.PodTemplateSpec) client.Object {
			return &cnatv1alpha1.At{ObjectMeta: meta, Spec: cnatv1alpha1.AtSpec{
				Schedule: due.UTC().Format(time.RFC3339), BackoffLimit: &retries, Template: &template,
			}}
		},
		postpone: func(due time.Time) string {
			return fmt.Sprintf(`{"spec":{"schedule":%q}}`, due.UTC().Format(time.RFC3339))
		},
		list: func(ctx context.Context, c client.Reader, namespace string) (map[string]claim, error) {
			list := &cnatv1alpha1.AtList{}
			err := c.List(ctx, list, client.InNamespace(namespace))
			claims := map[string]claim{}
			for i := range list.Items {
				claims[list.Items[i].Name] = claimOfAt(&list.Items[i].Status)
			}
			return claims, err
		},
	}
}

// claimOfAt reads a status as docs/at-most-once.md explains it. An At of the judge is never suspended, and a rejected create is repeated
// within a minute. So after the last fault, only a pod that waits on its node explains why an At is not done.
func claimOfAt(s *cnatv1alpha1.AtStatus) claim {
	c := claim{
		done: s.Phase == cnatv1alpha1.PhaseDone, succeeded: s.Result == cnatv1alpha1.ResultSucceeded,
		attempts: int(s.Attempts), pod: s.PodName,
	}
	if s.ExitCode != nil {
		code := int(*s.ExitCode)
		c.exitCode = &code
	}
	failed := message(meta.FindStatusCondition(s.Conditions, "Failed"))
	c.didNotRun = s.PodUID == "" || strings.Contains(failed, "did not run") || strings.Contains(failed, "was not run")
	ready := message(meta.FindStatusCondition(s.Conditions, "Ready"))
	if strings.HasPrefix(ready, "PodWaiting: ") {
		c.waitsFor = ready
	}
	c.text = fmt.Sprintf("%s %s, attempts %d, %s", s.Phase, s.Result, s.Attempts, cmp.Or(failed, ready))
	return c
}

func message(c *metav1.Condition) string {
	if c == nil {
		return ""
	}
	return c.Reason + ": " + c.Message
}

// jobSpec is the strictest Job: no retries, and no replacement before a pod has ended.
func jobSpec(template corev1.PodTemplateSpec) batchv1.JobSpec {
	replace := batchv1.Failed
	return batchv1.JobSpec{BackoffLimit: new(int32), PodReplacementPolicy: &replace, Template: template}
}

func jobAdapter() *adapter {
	return &adapter{
		name: "job", cancel: `{"spec":{"suspend":true}}`,
		object: func(meta metav1.ObjectMeta, _ time.Time, template corev1.PodTemplateSpec) client.Object {
			return &batchv1.Job{ObjectMeta: meta, Spec: jobSpec(template)}
		},
		list: func(ctx context.Context, c client.Reader, namespace string) (map[string]claim, error) {
			return claimsOfJobs(ctx, c, namespace, func(job *batchv1.Job) bool { return metav1.GetControllerOf(job) == nil })
		},
	}
}

func cronJobAdapter() *adapter {
	return &adapter{
		name: "cronjob", waits: true, cancel: `{"spec":{"suspend":true}}`,
		object: func(meta metav1.ObjectMeta, due time.Time, template corev1.PodTemplateSpec) client.Object {
			zone := "Etc/UTC"
			return &batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{
				Schedule: due.UTC().Format("4 15 2 1 *"), TimeZone: &zone,
				JobTemplate: batchv1.JobTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels}, Spec: jobSpec(template)},
			}}
		},
		list: func(ctx context.Context, c client.Reader, namespace string) (map[string]claim, error) {
			list := &batchv1.CronJobList{}
			if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
				return nil, err
			}
			jobs, err := claimsOfJobs(ctx, c, namespace, func(job *batchv1.Job) bool { return metav1.GetControllerOf(job) != nil })
			claims := map[string]claim{}
			for i := range list.Items {
				name := list.Items[i].Name
				claims[name] = jobs[name]
				if s := list.Items[i].Spec.Suspend; s != nil && *s && !jobs[name].done {
					claims[name] = claim{waitsFor: "suspended", text: "suspended"}
				}
			}
			return claims, err
		},
	}
}

// claimsOfJobs returns the claims of the Jobs that are wanted. A run whose CronJob has made two Jobs has the attempts of both.
func claimsOfJobs(ctx context.Context, c client.Reader, namespace string, wanted func(*batchv1.Job) bool) (map[string]claim, error) {
	list := &batchv1.JobList{}
	err := c.List(ctx, list, client.InNamespace(namespace))
	claims := map[string]claim{}
	for i := range list.Items {
		job := &list.Items[i]
		if !wanted(job) {
			continue
		}
		next := claimOfJob(job)
		if earlier, found := claims[job.Labels[label]]; found {
			next.attempts += earlier.attempts
			next.done = next.done && earlier.done
			next.succeeded = next.succeeded || earlier.succeeded
			next.text = earlier.text + "; " + next.text
		}
		claims[job.Labels[label]] = next
	}
	return claims, err
}

func claimOfJob(job *batchv1.Job) claim {
	c := claim{attempts: int(job.Status.Succeeded + job.Status.Failed)}
	reason := ""
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		reason = fmt.Sprintf("%s: %s: %s", condition.Type, condition.Reason, condition.Message)
		switch condition.Type {
		case batchv1.JobComplete:
			c.done, c.succeeded = true, true
		case batchv1.JobFailed:
			c.done = true
		case batchv1.JobSuspended:
			c.waitsFor = reason
		}
	}
	c.text = fmt.Sprintf("active %d, succeeded %d, failed %d, %s", job.Status.Active, job.Status.Succeeded, job.Status.Failed, reason)
	return c
}
