// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
)

// OmittedSelectors returns a warning about the NetworkPolicies that apply to the pods of the workload, or let them
// connect to others, by labels that a copy does not have, or "" if there is none. labels are those of the copy. It
// names the Services that would send traffic to a copy with these labels.
func (w *Workload) OmittedSelectors(policies []networkingv1.NetworkPolicy, services []corev1.Service, labels map[string]string) string {
	var names []string
	missing := map[string]string{}
	for i := range policies {
		for _, selector := range podSelectors(&policies[i].Spec) {
			if !isOmitted(selector, w.Template.Labels, labels) {
				continue
			}
			for _, key := range selectedKeys(selector) {
				if value, ok := w.Template.Labels[key]; ok {
					missing[key] = value
				}
			}
			if name := policies[i].Name; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	var flags, receivers []string
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		flags = append(flags, "--label "+key+"="+missing[key])
	}
	copied := maps.Clone(missing)
	maps.Copy(copied, labels)
	for _, service := range services {
		if len(service.Spec.Selector) > 0 && k8slabels.SelectorFromSet(service.Spec.Selector).Matches(k8slabels.Set(copied)) {
			receivers = append(receivers, service.Name)
		}
	}
	text := fmt.Sprintf("the network policy %s selects the pods of the %s %s by labels that are not copied, so it does not apply to this pod, or does not let it connect",
		strings.Join(names, ", "), w.Kind, w.Name)
	if len(flags) > 0 {
		text += "; " + strings.Join(flags, " ") + " sets them"
	}
	if len(receivers) > 0 {
		text += ", but then the Service " + strings.Join(receivers, ", ") + " sends traffic to the pod"
	}
	return text
}

// podSelectors returns which pods a policy is for, and which may connect to them.
func podSelectors(policy *networkingv1.NetworkPolicySpec) []*metav1.LabelSelector {
	selectors := []*metav1.LabelSelector{&policy.PodSelector}
	for _, rule := range policy.Ingress {
		for _, from := range rule.From {
			selectors = append(selectors, cmp.Or(from.PodSelector, &metav1.LabelSelector{}))
		}
	}
	return selectors
}

// isOmitted reports whether a selector selects some labels and not those of a copy.
func isOmitted(selector *metav1.LabelSelector, from, copied map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(k8slabels.Set(from)) && !s.Matches(k8slabels.Set(copied))
}

func selectedKeys(selector *metav1.LabelSelector) []string {
	keys := slices.Collect(maps.Keys(selector.MatchLabels))
	for _, requirement := range selector.MatchExpressions {
		keys = append(keys, requirement.Key)
	}
	return keys
}
