// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
)

func TestHelp(t *testing.T) {
	t.Parallel()
	p := start(t, nil, "-help")
	if err := p.wait(t); err == nil || !strings.HasPrefix(p.log.String(), "Usage of podset-operator") || strings.Contains(p.log.String(), "help requested") {
		t.Errorf("%v\n%s", err, p.log)
	}
}

// Operator Lifecycle Manager can set variables, but no flags. The levels of the log are words.
func TestFlags(t *testing.T) {
	t.Parallel()
	env := []string{"WATCH_NAMESPACE=" + namespace(t, admin), "PODSET_OPERATOR_KUBECONFIG=" + administrator(t, cluster)}
	for _, variable := range []string{"ZAP_LOG_LEVEL=9", "METRICS_BIND_ADDRESS=0", "HEALTH_PROBE_BIND_ADDRESS=0", "KUBE_API_QPS=50", "LOG_LEVEL=9"} {
		env = append(env, "PODSET_OPERATOR_"+variable)
	}
	p := start(t, env)
	NewWithT(t).Eventually(func() int { return p.log.Lines(`"level":"debug"`) }).WithTimeout(time.Minute).ShouldNot(BeZero())
	if log := p.terminate(t); strings.Contains(log, "Level(") || !strings.Contains(log, `"variable":"PODSET_OPERATOR_LOG_LEVEL"`) {
		t.Error(log)
	}
}

// A mistake at the start is reported on one line with the remedy.
func TestMistakes(t *testing.T) {
	t.Parallel()
	stranger, admin := kubeconfig(t, cluster, "stranger"), administrator(t, cluster)
	for title, tc := range map[string]struct {
		env, args, want []string
	}{
		"an argument that is no flag": {nil, []string{"start"}, []string{`unexpected argument "start"`, "-help"}},
		"a namespace that cannot be": {
			[]string{"WATCH_NAMESPACE=Not_Valid"}, nil, []string{`WATCH_NAMESPACE: "Not_Valid" cannot be a namespace`, "comma-separated"},
		},
		"a memory limit with a unit": {[]string{"MEMORY_LIMIT=512Mi"}, nil, []string{`MEMORY_LIMIT: "512Mi" is not a number of bytes`}},
		"a wrong value in the environment": {
			[]string{"PODSET_OPERATOR_ZAP_LOG_LEVEL=loud"}, nil, []string{"environment variable PODSET_OPERATOR_ZAP_LOG_LEVEL", `"loud"`, "--zap-log-level"},
		},
		"a Secret that cannot be": {
			[]string{"PODSET_OPERATOR_DEFAULT_IMAGE_PULL_SECRETS=mirror:5000"}, nil, []string{"environment variable PODSET_OPERATOR_DEFAULT_IMAGE_PULL_SECRETS", `"mirror:5000" cannot be the name of a Secret`},
		},
		"a wrong value of a flag":    {nil, []string{"--kube-api-qps=fast"}, []string{`"fast"`, "-kube-api-qps"}},
		"a flag that does not exist": {nil, []string{"--log-level=debug"}, []string{"not defined: -log-level"}},
		"an address without a port": {
			[]string{"PODSET_OPERATOR_PPROF_BIND_ADDRESS=6060"}, nil, []string{"environment variable PODSET_OPERATOR_PPROF_BIND_ADDRESS", `"6060"`, "missing port"},
		},
		"no kubeconfig in the environment": {
			[]string{"PODSET_OPERATOR_KUBECONFIG=/does/not/exist"}, nil, []string{"environment variable PODSET_OPERATOR_KUBECONFIG", "/does/not/exist"},
		},
		"an OperatorCondition outside a pod": {
			[]string{"OPERATOR_CONDITION_NAME=x"}, []string{"--kubeconfig=" + admin}, []string{"environment variable OPERATOR_CONDITION_NAME"},
		},
		"a renewal that takes longer than the lease": {
			[]string{"POD_NAMESPACE=default"}, []string{"--kubeconfig=" + admin, "--leader-elect", "--leader-elect-lease-duration=5s"},
			[]string{"leaseDuration must be greater than renewDeadline"},
		},
		"a version of TLS that does not exist": {
			[]string{"PODSET_OPERATOR_METRICS_TLS_MIN_VERSION=1.3"}, nil,
			[]string{"environment variable PODSET_OPERATOR_METRICS_TLS_MIN_VERSION: --metrics-tls-min-version", `"1.3"`},
		},
		"a cipher suite that does not exist": {nil, []string{"--metrics-tls-cipher-suites=TLS_NONE"}, []string{"--metrics-tls-cipher-suites", "TLS_NONE"}},
		"no requests":                        {nil, []string{"--kube-api-qps=0"}, []string{"--kube-api-qps=0 must not be 0"}},
		"no kubeconfig": {
			nil, []string{"--kubeconfig=/does/not/exist"}, []string{"cannot find a cluster", "/does/not/exist", "KUBECONFIG"},
		},
		"no file in KUBECONFIG": {
			[]string{"KUBECONFIG=/does/not/exist"}, nil, []string{"KUBECONFIG: stat /does/not/exist: no such file or directory"},
		},
		"leader election outside a pod": {nil, []string{"--kubeconfig=" + admin, "--leader-elect"}, []string{"leader election namespace"}},
		"another certificate authority": {
			nil, []string{"--kubeconfig=" + withAuthority(t, stranger)}, []string{"cannot reach the API server", "certificate signed by unknown authority"},
		},
		"no permissions": {
			nil, []string{"--kubeconfig=" + stranger}, []string{"not allowed to list podsets.app.example.com in all namespaces", "WATCH_NAMESPACE"},
		},
		"no permissions in a namespace": {
			[]string{"WATCH_NAMESPACE=shop,bank"}, []string{"--kubeconfig=" + stranger}, []string{"in namespace bank"},
		},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			got := runExpectingError(t, tc.env, tc.args...)
			for _, part := range tc.want {
				if !strings.Contains(got, part) {
					t.Errorf("%q does not contain %q", got, part)
				}
			}
		})
	}
}

// withAuthority returns the path of a copy of a kubeconfig with another certificate authority.
func withAuthority(t *testing.T, kubeconfig string) string {
	t.Helper()
	return edited(t, kubeconfig, func(c *clientcmdapi.Cluster) {
		authority, _, err := cert.GenerateSelfSignedCertKey("another", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.CertificateAuthorityData = authority
	})
}

// edited returns the path of a copy of a kubeconfig with another cluster.
func edited(t *testing.T, kubeconfig string, edit func(*clientcmdapi.Cluster)) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range config.Clusters {
		edit(c)
	}
	data, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "edited", data)
}
