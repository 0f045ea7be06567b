// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// Admission rejects these templates first; TestAdmission_templates in controllers has the same rows. The API server
// drops fields that the CRDs do not have, so what a template can do is what these types can. A field that a newer
// library adds must be reviewed before it is added here: can it repeat the command of an At, or end the pods of a
// PodSet?
func TestTemplate_fields(t *testing.T) {
	for _, test := range []struct {
		of   any
		want string
	}{
		{corev1.PodSpec{}, `activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy
			enableServiceLinks ephemeralContainers evictionResponders hostAliases hostIPC hostNetwork hostPID hostUsers hostname
			hostnameOverride imagePullSecrets initContainers nodeName nodeSelector os overhead preemptionPolicy priority
			priorityClassName readinessGates resourceClaims resources restartPolicy runtimeClassName schedulerName schedulingGates
			schedulingGroup securityContext serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain
			terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes`},
		{corev1.Container{}, `args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe
			resizePolicy resources restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce
			terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts workingDir`},
		{corev1.Lifecycle{}, "postStart preStop stopSignal"},
	} {
		want := map[string]bool{}
		for _, name := range strings.Fields(test.want) {
			want[name] = true
		}
		got, of := map[string]bool{}, reflect.TypeOf(test.of)
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			got[name] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-reviewed +got):\n%s", of, diff)
		}
	}
}
