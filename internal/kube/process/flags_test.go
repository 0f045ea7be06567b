// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSecrets(t *testing.T) {
	for value, want := range map[string]string{"": "", "a": "a", "a, b.c,": "a,b.c"} {
		var secrets Secrets
		if err := secrets.Set(value); err != nil || secrets.String() != want {
			t.Errorf("%q is read as %q, %v", value, secrets.String(), err)
		}
	}
	secrets := Secrets{{Name: "before"}}
	if err := secrets.Set("a,B"); err == nil || !strings.Contains(err.Error(), `"B" cannot be the name of a Secret`) {
		t.Errorf("error %v", err)
	}
	if err := secrets.Set(""); err != nil || len(secrets) > 0 {
		t.Errorf("a flag that is given again adds to its value: %v, %v", secrets, err)
	}
}

func TestSetFromEnv(t *testing.T) {
	for name, tc := range map[string]struct {
		args    []string
		env     map[string]string
		address string
		period  time.Duration
		want    string // the error
	}{
		"neither":           {address: ":1", period: time.Second},
		"the variable":      {env: map[string]string{"PODSET_OPERATOR_BIND_ADDRESS": "0", "PODSET_OPERATOR_PERIOD": "2s"}, address: "0", period: 2 * time.Second},
		"the flag wins":     {args: []string{"--bind-address=:2"}, env: map[string]string{"PODSET_OPERATOR_BIND_ADDRESS": "0"}, address: ":2", period: time.Second},
		"an empty variable": {env: map[string]string{"PODSET_OPERATOR_PERIOD": ""}, address: ":1", period: time.Second},
		"a wrong value": {
			env:  map[string]string{"PODSET_OPERATOR_PERIOD": "fast"},
			want: `environment variable PODSET_OPERATOR_PERIOD: "fast" is not a valid --period: parse error`,
		},
		"a wrong value that the flag overrides": {
			args: []string{"--period=3s"}, env: map[string]string{"PODSET_OPERATOR_PERIOD": "fast"}, address: ":1", period: 3 * time.Second,
		},
		"two wrong values are one line": {
			env:  map[string]string{"PODSET_OPERATOR_PERIOD": "fast", "PODSET_OPERATOR_COUNT": "many"},
			want: `environment variable PODSET_OPERATOR_COUNT: "many" is not a valid --count: parse error`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			flags := flag.NewFlagSet("operator", flag.ContinueOnError)
			flags.SetOutput(io.Discard)
			address, period := flags.String("bind-address", ":1", ""), flags.Duration("period", time.Second, "")
			flags.Int("count", 1, "")
			if err := flags.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			got := ""
			if _, err := SetFromEnv(flags, func(name string) string { return tc.env[name] }); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("error %q, want %q", got, tc.want)
			}
			if tc.want == "" && (*address != tc.address || *period != tc.period) {
				t.Errorf("address %s, period %s; want %s, %s", *address, *period, tc.address, tc.period)
			}
		})
	}
}

func TestNameVariables(t *testing.T) {
	flags := flag.NewFlagSet("operator", flag.ContinueOnError)
	flags.Bool("leader-elect", false, "")
	flags.Duration("leader-elect-retry-period", 0, "")
	flags.String("kubeconfig", "", "")
	set, err := SetFromEnv(flags, func(name string) string {
		return map[string]string{"PODSET_OPERATOR_LEADER_ELECT": "true", "PODSET_OPERATOR_KUBECONFIG": "a"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"--leader-elect-retry-period=0s is wrong": "--leader-elect-retry-period=0s is wrong",
		"set --kubeconfig":                        "environment variable PODSET_OPERATOR_KUBECONFIG: set --kubeconfig",
		"--leader-elect needs --kubeconfig=b":     "environment variable PODSET_OPERATOR_KUBECONFIG, PODSET_OPERATOR_LEADER_ELECT: --leader-elect needs --kubeconfig=b",
	} {
		if got := NameVariables(errors.New(text), set).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if err := NameVariables(nil, set); err != nil {
		t.Error(err)
	}
}

func TestUnknownVariables(t *testing.T) {
	flags := flag.NewFlagSet("operator", flag.ContinueOnError)
	flags.String("log-level", "", "")
	got := UnknownVariables(flags, []string{
		"PODSET_OPERATOR_LOG_LEVEL=debug", "PODSET_OPERATOR_LEVEL=debug", "PODSET_OPERATOR_REPORT=1", "HOME=/",
		// Kubernetes sets these for Services in the namespace of the pod.
		"PODSET_OPERATOR_METRICS_SERVICE_HOST=10.0.0.1", "PODSET_OPERATOR_METRICS_SERVICE_PORT_HTTPS=8443", "PODSET_OPERATOR_PORT=tcp://10.0.0.1:80",
		"PODSET_OPERATOR_PORT_80_TCP_ADDR=10.0.0.1", "PODSET_OPERATOR_PORT_80_TCP=tcp://10.0.0.1:80",
	})
	if diff := cmp.Diff([]string{"PODSET_OPERATOR_LEVEL", "PODSET_OPERATOR_REPORT"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAddress(t *testing.T) {
	for value, valid := range map[string]bool{
		":8443": true, "[::1]:0": true, "localhost:8443": true, "0": true, "": true, "8443": false, ":https": false, ":99999": false, "::1": false,
	} {
		address := Address("before")
		if err := address.Set(value); (err == nil) != valid || valid && address.String() != value {
			t.Errorf("%q is read as %q, %v", value, address, err)
		}
	}
}
