// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
)

func TestHelp(t *testing.T) {
	t.Parallel()
	p := start(t, nil, "-help")
	if err := p.await(t); err == nil || !strings.HasPrefix(p.log.String(), "Usage of podset-operator") || strings.Contains(p.log.String(), "help requested") {
		t.Errorf("%v\n%s", err, p.log)
	}
}

// A mistake at the start is one line, which names the remedy.
func TestMistakes(t *testing.T) {
	t.Parallel()
	nobody := kubeconfig(t, cluster.Environment, "nobody")
	for title, tc := range map[string]struct {
		env, args, want []string
	}{
		"an argument that is no flag": {nil, []string{"start"}, []string{`unexpected argument "start"`, "-help"}},
		"a namespace that cannot be": {
			[]string{"WATCH_NAMESPACE=Not_Valid"}, nil, []string{`WATCH_NAMESPACE: "Not_Valid" cannot be a namespace`, "comma-separated"},
		},
		"a memory limit with a unit": {[]string{"MEMORY_LIMIT=512Mi"}, nil, []string{`MEMORY_LIMIT: "512Mi" is not a number of bytes`}},
		"no kubeconfig": {
			nil, []string{"--kubeconfig=/does/not/exist"}, []string{"no cluster to work on", "/does/not/exist", "KUBECONFIG"},
		},
		"no file in KUBECONFIG": {
			[]string{"KUBECONFIG=/does/not/exist"}, nil, []string{"KUBECONFIG: stat /does/not/exist: no such file or directory"},
		},
		"leader election outside a pod": {
			nil, []string{"--kubeconfig=" + nobody, "--leader-elect"}, []string{"--leader-elect", "--leader-elect-resource-namespace"},
		},
		"another certificate authority": {
			nil, []string{"--kubeconfig=" + withAuthority(t, nobody)}, []string{"cannot reach the API server", "certificate signed by unknown authority"},
		},
		"no permissions": {
			nil, []string{"--kubeconfig=" + nobody}, []string{"not allowed to list podsets.app.example.com in all namespaces", "WATCH_NAMESPACE"},
		},
		"no permissions in a namespace": {
			[]string{"WATCH_NAMESPACE=shop,bank"}, []string{"--kubeconfig=" + nobody}, []string{"in namespace bank"},
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
