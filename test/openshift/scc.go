// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openshift stands in for an OpenShift cluster in tests. It has the CRDs of OpenShift, and tells whether OpenShift admits a pod
// under the SecurityContextConstraints restricted-v2.
//
// It implements the rules for the fields of restricted-v2. The documentation of the fields is in
// https://docs.redhat.com/en/documentation/openshift_container_platform/latest/html/authentication_and_authorization/managing-pod-security-policies.
// OpenShift implements them in github.com/openshift/apiserver-library-go/pkg/securitycontextconstraints, below called "lib". What a pod
// leaves open, OpenShift sets to an allowed value, so only what a pod sets can be rejected.
package openshift

import (
	_ "embed"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

//go:embed restricted-v2.yaml
var restrictedV2 []byte

// Constraints are the fields of a SecurityContextConstraints that restricted-v2 uses.
type Constraints struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	AllowHostDirVolumePlugin bool                `json:"allowHostDirVolumePlugin"`
	AllowHostIPC             bool                `json:"allowHostIPC"`
	AllowHostNetwork         bool                `json:"allowHostNetwork"`
	AllowHostPID             bool                `json:"allowHostPID"`
	AllowHostPorts           bool                `json:"allowHostPorts"`
	AllowPrivilegeEscalation bool                `json:"allowPrivilegeEscalation"`
	AllowPrivilegedContainer bool                `json:"allowPrivilegedContainer"`
	AllowedCapabilities      []corev1.Capability `json:"allowedCapabilities"`
	DefaultAddCapabilities   []corev1.Capability `json:"defaultAddCapabilities"`
	RequiredDropCapabilities []corev1.Capability `json:"requiredDropCapabilities"`
	ReadOnlyRootFilesystem   bool                `json:"readOnlyRootFilesystem"`
	SeccompProfiles          []string            `json:"seccompProfiles"`
	Volumes                  []string            `json:"volumes"`
	FSGroup                  Strategy            `json:"fsGroup"`
	RunAsUser                Strategy            `json:"runAsUser"`
	SELinuxContext           Strategy            `json:"seLinuxContext"`
	SupplementalGroups       Strategy            `json:"supplementalGroups"`
	Groups                   []string            `json:"groups"`
	Users                    []string            `json:"users"`
	Priority                 *int32              `json:"priority"`
}

// Strategy tells where the allowed values come from.
type Strategy struct {
	Type string `json:"type"`
}

// Namespace contains the values that OpenShift allocates to a namespace, in the annotations openshift.io/sa.scc.*.
type Namespace struct {
	FirstUser, Users int64  // sa.scc.uid-range
	Group            int64  // the first of sa.scc.supplemental-groups
	Level            string // sa.scc.mcs
}

// RestrictedV2 returns the constraints restricted-v2.
func RestrictedV2() (*Constraints, error) {
	c := &Constraints{}
	if err := yaml.UnmarshalStrict(restrictedV2, c); err != nil {
		return nil, fmt.Errorf("reading restricted-v2: %w", err)
	}
	return c, nil
}

// Reject returns why OpenShift rejects the pod in the namespace, or nothing.
func (c *Constraints) Reject(n Namespace, pod *corev1.PodSpec) []string {
	reasons := c.rejectPod(n, pod)
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, reason := range c.rejectContainer(n, &container) {
			reasons = append(reasons, "container "+container.Name+": "+reason)
		}
	}
	return reasons
}

func (c *Constraints) rejectPod(n Namespace, pod *corev1.PodSpec) (reasons []string) {
	reject := func(bad bool, format string, args ...any) {
		if bad {
			reasons = append(reasons, fmt.Sprintf(format, args...))
		}
	}
	// lib/sccmatching/provider.go, NewSimpleProvider
	reject(pod.HostNetwork && !c.AllowHostNetwork, "hostNetwork is not allowed")
	reject(pod.HostPID && !c.AllowHostPID, "hostPID is not allowed")
	reject(pod.HostIPC && !c.AllowHostIPC, "hostIPC is not allowed")
	// lib/sccmatching/provider.go, validatePodVolumes
	for _, volume := range pod.Volumes {
		kind := volumeKind(volume.VolumeSource)
		reject(!slices.Contains(c.Volumes, kind), "volume %s: %s is not allowed", volume.Name, kind)
	}
	own := pod.SecurityContext
	if own == nil {
		return reasons
	}
	reasons = append(reasons, c.rejectUser(n, own.RunAsUser)...)
	reasons = append(reasons, c.rejectSELinux(n, own.SELinuxOptions)...)
	reasons = append(reasons, c.rejectSeccomp(own.SeccompProfile)...)
	// lib/group/mustrunas.go; lib/sccmatching/matcher.go takes the first group of the namespace only
	reject(c.FSGroup.Type == "MustRunAs" && own.FSGroup != nil && *own.FSGroup != n.Group, "fsGroup %v is not %d", own.FSGroup, n.Group)
	reject(c.SupplementalGroups.Type != "RunAsAny" && len(own.SupplementalGroups) > 0, "supplementalGroups are not allowed")
	// lib/sysctl/mustmatchpatterns.go
	for _, sysctl := range own.Sysctls {
		reject(!slices.Contains(safeSysctls, sysctl.Name), "sysctl %s is not allowed", sysctl.Name)
	}
	return reasons
}

func (c *Constraints) rejectContainer(n Namespace, container *corev1.Container) (reasons []string) {
	reject := func(bad bool, format string, args ...any) {
		if bad {
			reasons = append(reasons, fmt.Sprintf(format, args...))
		}
	}
	// lib/sccmatching/checks.go, checkHostPort
	for _, port := range container.Ports {
		reject(port.HostPort != 0 && !c.AllowHostPorts, "hostPort %d is not allowed", port.HostPort)
	}
	own := container.SecurityContext
	if own == nil {
		return reasons
	}
	yes := func(b *bool) bool { return b != nil && *b }
	// lib/sccmatching/checks.go, checkPrivileged and checkAllowPrivilegeEscalation
	reject(yes(own.Privileged) && !c.AllowPrivilegedContainer, "privileged is not allowed")
	reject(yes(own.AllowPrivilegeEscalation) && !c.AllowPrivilegeEscalation, "allowPrivilegeEscalation is not allowed")
	// lib/sccmatching/checks.go, checkReadOnlyFileSystem
	reject(c.ReadOnlyRootFilesystem && own.ReadOnlyRootFilesystem != nil && !*own.ReadOnlyRootFilesystem, "the root file system must be read-only")
	// lib/capabilities/mustrunas.go; what must be dropped is added to the dropped capabilities of the container
	if own.Capabilities != nil {
		for _, added := range own.Capabilities.Add {
			reject(!slices.Contains(c.AllowedCapabilities, added), "capability %s may not be added", added)
		}
	}
	reasons = append(reasons, c.rejectUser(n, own.RunAsUser)...)
	reasons = append(reasons, c.rejectSELinux(n, own.SELinuxOptions)...)
	return append(reasons, c.rejectSeccomp(own.SeccompProfile)...)
}

// rejectUser follows lib/user/mustrunasrange.go.
func (c *Constraints) rejectUser(n Namespace, user *int64) []string {
	if c.RunAsUser.Type != "MustRunAsRange" || user == nil || *user >= n.FirstUser && *user < n.FirstUser+n.Users {
		return nil
	}
	return []string{fmt.Sprintf("runAsUser %d is not in the range from %d of the namespace", *user, n.FirstUser)}
}

// rejectSELinux follows lib/selinux/mustrunas.go: every field must have the value of the namespace.
func (c *Constraints) rejectSELinux(n Namespace, options *corev1.SELinuxOptions) []string {
	if c.SELinuxContext.Type != "MustRunAs" || options == nil || *options == (corev1.SELinuxOptions{Level: n.Level}) {
		return nil
	}
	return []string{fmt.Sprintf("seLinuxOptions %v are not those of the namespace", options)}
}

// rejectSeccomp follows lib/seccomp/strategy.go.
func (c *Constraints) rejectSeccomp(profile *corev1.SeccompProfile) []string {
	if profile == nil || profile.Type == corev1.SeccompProfileTypeRuntimeDefault && slices.Contains(c.SeccompProfiles, "runtime/default") {
		return nil
	}
	return []string{fmt.Sprintf("the seccomp profile %s is not allowed", profile.Type)}
}

// safeSysctls are the sysctls of a pod that cannot affect another pod:
// https://kubernetes.io/docs/tasks/administer-cluster/sysctl-cluster/#safe-and-unsafe-sysctls.
var safeSysctls = []string{
	"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range",
	"net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time",
	"net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
}

// volumeKind returns the name of the kind of a volume, which is its only field.
func volumeKind(source corev1.VolumeSource) string {
	content, err := yaml.Marshal(source)
	if err != nil {
		return err.Error()
	}
	fields := map[string]any{}
	if err := yaml.Unmarshal(content, &fields); err != nil {
		return err.Error()
	}
	for kind := range fields {
		return kind
	}
	return "emptyDir" // the default
}
