// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// preflightTimeout bounds the questions at the start.
const preflightTimeout = 15 * time.Second

// Preflight finds the mistakes that would otherwise show as endless retries in the log: an API server that cannot be
// reached, CRDs that are not installed, rights that are missing in one of the namespaces (none: all namespaces). Its
// error is one line that names the remedy. It returns whether the cluster is OpenShift.
func Preflight(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, namespaces []string) (openShift bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, preflightTimeout)
	defer cancel()
	config = rest.CopyConfig(config)
	config.Timeout = preflightTimeout

	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return false, fmt.Errorf("reading the configuration of the cluster: %w", err)
	}
	groups, err := discoverer.ServerGroups()
	if err != nil {
		return false, fmt.Errorf("cannot reach the API server at %s: %w", config.Host, err)
	}
	reader, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return false, fmt.Errorf("cannot reach the API server at %s: %w", config.Host, err)
	}
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		if err := canList(ctx, reader, namespace); err != nil {
			return false, err
		}
	}
	return slices.ContainsFunc(groups.Groups, func(group metav1.APIGroup) bool {
		return group.Name == "security.openshift.io"
	}), nil
}

func canList(ctx context.Context, reader client.Reader, namespace string) error {
	for _, kind := range []struct {
		resource string
		list     client.ObjectList
	}{
		{"podsets.app.example.com", &appv1alpha1.PodSetList{}},
		{"ats.cnat.d2iq.com", &cnatv1alpha1.AtList{}},
		{"pods", &corev1.PodList{}},
	} {
		err := reader.List(ctx, kind.list, client.InNamespace(namespace), client.Limit(1))
		where := "in all namespaces"
		if namespace != metav1.NamespaceAll {
			where = "in namespace " + namespace
		}
		switch {
		case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
			return fmt.Errorf("the custom resource definition %s is not installed: install it with make install, make deploy or Operator Lifecycle Manager", kind.resource)
		case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
			return fmt.Errorf("not allowed to list %s %s: bind the operator's role there, or set WATCH_NAMESPACE to where it is bound: %w", kind.resource, where, err)
		case err != nil:
			return fmt.Errorf("listing %s %s: %w", kind.resource, where, err)
		}
	}
	return nil
}
