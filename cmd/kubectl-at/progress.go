// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// operatorPatience is how long the operator may take to see a new At before that is reported, and hintInterval how often.
const (
	operatorPatience = 10 * time.Second
	hintInterval     = 30 * time.Second
)

// awaitAt watches an At until done says so. It prints what keeps the At from its start or its end.
func (p *plugin) awaitAt(ctx context.Context, c *cluster, name string, done func(*cnatv1alpha1.At) bool) (*cnatv1alpha1.At, error) {
	var mutex sync.Mutex
	unseen, reported := false, ""
	var timer *time.Timer
	mutex.Lock()
	timer = time.AfterFunc(operatorPatience, func() {
		mutex.Lock()
		defer mutex.Unlock()
		if unseen {
			_, _ = fmt.Fprintf(p.ErrOut, "at/%s waits: the operator has not seen it; is podset-operator running, and does it serve the namespace %s?\n", name, c.namespace)
			timer.Reset(hintInterval)
		}
	})
	mutex.Unlock()
	defer timer.Stop()
	found, err := await(ctx, c, name, &cnatv1alpha1.AtList{}, &cnatv1alpha1.At{}, func(a *cnatv1alpha1.At) bool {
		mutex.Lock()
		defer mutex.Unlock()
		unseen = a.Status.ObservedGeneration < 0 // the default of a new At
		if done(a) {
			return true
		}
		if reason := heldBy(a); reason != "" && reason != reported {
			reported = reason
			_, _ = fmt.Fprintf(p.ErrOut, "at/%s waits: %s\n", name, reason)
		}
		return false
	})
	mutex.Lock()
	defer mutex.Unlock()
	unseen = false
	return found, err
}

// heldBy returns what keeps an At from starting at its time, such as its suspension or a rejected pod, or from ending: its pod waits, or
// another container outlives the command.
func heldBy(a *cnatv1alpha1.At) string {
	scheduled := meta.FindStatusCondition(a.Status.Conditions, cnatv1alpha1.ConditionScheduled)
	switch {
	case scheduled == nil:
		return ""
	case scheduled.Status == metav1.ConditionFalse:
		return scheduled.Reason + ": " + printable(scheduled.Message)
	case scheduled.Reason == cnatv1alpha1.ReasonStarted && !isDone(a) && !strings.HasSuffix(scheduled.Message, " was created"):
		return printable(scheduled.Message)
	}
	return ""
}

// hangsFor returns heldBy in one word for a table, or "" for an At that is done or that nothing holds.
func hangsFor(a *cnatv1alpha1.At) string {
	scheduled := meta.FindStatusCondition(a.Status.Conditions, cnatv1alpha1.ConditionScheduled)
	if scheduled == nil || isDone(a) {
		return ""
	}
	if scheduled.Status == metav1.ConditionFalse {
		return scheduled.Reason
	}
	_, waiting, _ := strings.Cut(scheduled.Message, " is waiting: ")
	reason, _, _ := strings.Cut(waiting, ":")
	return printable(reason)
}
