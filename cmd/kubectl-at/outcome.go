// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilexec "k8s.io/client-go/util/exec"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
)

// Exit codes of --outcome-codes, which docs/kubectl-at.md explains. Neither shells nor Go programs exit with them by themselves.
const (
	codeFailed  = 10
	codeNotRun  = 11
	codeUnknown = 12
	codeRefused = 13
	codeNotRead = 14
)

// conditionCommandRan is the type of the condition that answers whether the command ran.
const conditionCommandRan = "CommandRan"

func addOutcomeFlag(cmd *cobra.Command) {
	cmd.Flags().Bool("outcome-codes", false, "Do not exit with the exit code of the command, but with 10 if it failed, 11 if it did not run, 12 if that is unknown, "+
		"13 if the API server or the operator refuses the At, and 14 if the API server cannot be asked.")
}

func hasOutcomeCodes(cmd *cobra.Command) bool {
	isSet, err := cmd.Flags().GetBool("outcome-codes")
	return err == nil && isSet
}

// exit gives an error the exit code of --outcome-codes, unless it has one, as that of a timeout.
func (r *request) exit(code int, err error) error {
	if err == nil || !hasOutcomeCodes(r.cmd) || errors.As(err, new(utilexec.ExitError)) {
		return err
	}
	message, _ := describe(err)
	return utilexec.CodeExitError{Err: errors.New(message), Code: code}
}

// unsent gives an exit code to an error because of which no At was created. An error about the command line keeps 1.
func (r *request) unsent(err error) error {
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		return r.exit(codeRefused, err)
	case errors.As(err, new(*url.Error)):
		return r.exit(codeNotRead, err)
	}
	return err
}

// unread gives an exit code to an error because of which the end of an At is not known. A deleted At may have run.
func (r *request) unread(err error) error {
	if apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return r.exit(codeUnknown, err)
	}
	return r.exit(codeNotRead, err)
}

// end prints an At that is over as -o says, and returns its outcome.
func (r *request) end(at *cnatv1alpha1.At) error {
	if r.printer != nil {
		if err := r.printer.PrintObj(at, r.data()); err != nil {
			return err
		}
	}
	err := outcome(at)
	if err != nil && hasOutcomeCodes(r.cmd) {
		return utilexec.CodeExitError{Err: errors.New("error: " + strings.TrimPrefix(err.Error(), "error: ")), Code: outcomeCode(at)}
	}
	return err
}

// outcomeCode returns the exit code of --outcome-codes for an At that has not succeeded. Only what the status proves counts.
func outcomeCode(at *cnatv1alpha1.At) int {
	ran := meta.FindStatusCondition(at.Status.Conditions, conditionCommandRan)
	switch isDone := atrun.IsDone(&at.Status); {
	case at.Status.ExitCode != nil || ran != nil && ran.Status == metav1.ConditionTrue:
		return codeFailed
	case isDone && ran != nil && ran.Status == metav1.ConditionFalse:
		return codeNotRun
	case !isDone && !atrun.HasStarted(&at.Status):
		return codeRefused
	}
	return codeUnknown
}
