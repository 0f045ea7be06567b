// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command scorecard runs one test of the operator for `operator-sdk scorecard`. It creates PodSets and Ats in the namespace where it
// runs, checks what the operator does with them, deletes them, and prints a v1alpha3.TestStatus as JSON. The operator must serve that
// namespace. The test needs the permissions in rbac.yaml.
//
//	scorecard podset-scales | podset-replaces-pods | at-runs-once | at-reports-failure
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// patience is the time limit of a test.
const patience = 100 * time.Second

// tests maps the names in the scorecard configuration to the tests.
var tests = map[string]func(context.Context, *suite) error{
	"podset-scales":        podSetScales,
	"podset-replaces-pods": podSetReplacesPods,
	"at-runs-once":         atRunsOnce,
	"at-reports-failure":   atReportsFailure,
}

func main() {
	ctrl.SetLogger(logr.Discard())
	name := ""
	if len(os.Args) == 2 {
		name = os.Args[1]
	}
	test, known := tests[name]
	if !known {
		fmt.Fprintln(os.Stderr, "usage: scorecard", strings.Join(slices.Sorted(maps.Keys(tests)), " | "))
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(ctrl.SetupSignalHandler(), patience)
	seen, err := run(ctx, test)
	cancel()
	if err := json.NewEncoder(os.Stdout).Encode(status(name, seen, err)); err != nil {
		fmt.Fprintln(os.Stderr, "scorecard: writing the result:", err)
		os.Exit(1)
	}
}

// run runs one test in its own suite. The log contains the steps up to the error.
func run(ctx context.Context, test func(context.Context, *suite) error) (seen []string, err error) {
	s, err := newSuite()
	if err != nil {
		return nil, err
	}
	defer func() {
		if cleanErr := s.clean(); err == nil {
			err = cleanErr
		}
		seen = s.log
	}()
	return nil, test(ctx, s)
}

// status returns the result of one test in the format of scorecard.
func status(name string, seen []string, err error) v1alpha3.TestStatus {
	result := v1alpha3.TestResult{Name: name, State: v1alpha3.PassState, Log: strings.Join(seen, "\n")}
	if err != nil {
		result.State = v1alpha3.FailState
		result.Errors = []string{err.Error()}
	}
	return v1alpha3.TestStatus{Results: []v1alpha3.TestResult{result}}
}

// newSuite connects to the cluster as the service account of the pod, for the namespace that scorecard sets.
func newSuite() (*suite, error) {
	namespace := os.Getenv("SCORECARD_NAMESPACE")
	if namespace == "" {
		return nil, fmt.Errorf("SCORECARD_NAMESPACE is empty: operator-sdk scorecard sets it")
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, appv1alpha1.AddToScheme, cnatv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return &suite{client: c, namespace: namespace}, nil
}
