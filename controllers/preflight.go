// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/kube/caches"
	"github.com/redhat/podset-operator/internal/kube/definition"
	"github.com/redhat/podset-operator/internal/kube/outage"
)

const (
	// preflightTimeout limits each request at the start.
	preflightTimeout = 15 * time.Second
	// readyTimeout limits the readiness request to the API server.
	readyTimeout = 3 * time.Second
)

// PreflightResult is the result of Preflight.
type PreflightResult struct {
	OpenShift bool
	// Mapper has the kinds that the controllers use, so that they can be set up without further requests.
	Mapper meta.RESTMapper
	// Namespaces reports which of the watched namespaces can be read.
	Namespaces *caches.Namespaces
}

// Preflight checks the cluster at the start, because a problem would otherwise appear only as endless retries in the
// log. It waits while the API server is unreachable, overloaded, or starting. It returns an error for a problem that
// lasts: wrong credentials, a missing or outdated custom resource definition, or missing permissions in all of the
// namespaces or, if there are none, in the cluster. The error is one line with the remedy.
func Preflight(ctx context.Context, c clock.WithTicker, config *rest.Config, scheme *runtime.Scheme, namespaces []string) (*PreflightResult, error) {
	config = rest.CopyConfig(config)
	config.Timeout = preflightTimeout
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	var found *PreflightResult
	err := outage.Wait(ctx, c, config.Host, func(ctx context.Context) (err error) {
		found, err = checkOnce(ctx, c, config, scheme, namespaces)
		return err
	})
	return found, err
}

// checkOnce checks the cluster once.
func checkOnce(ctx context.Context, c clock.WithTicker, config *rest.Config, scheme *runtime.Scheme, namespaces []string) (*PreflightResult, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of the cluster: %w", err)
	}
	// The next request opens a new connection, which a load balancer can route to another API server.
	defer utilnet.CloseIdleConnectionsFor(httpClient.Transport)
	discoverer, discovererErr := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	served, mapperErr := apiutil.NewDynamicRESTMapper(config, httpClient)
	mapper := meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{ownKinds(), served}}
	reader, readerErr := client.New(config, client.Options{Scheme: scheme, Mapper: mapper, HTTPClient: httpClient})
	if err := cmp.Or(discovererErr, mapperErr, readerErr); err != nil {
		return nil, fmt.Errorf("reading the configuration of the cluster: %w", err)
	}
	// While it starts, an API server can lack kinds and groups that it serves a moment later. If the operator lacks
	// permission to read /readyz, it goes on.
	if err := checkReady(ctx, discoverer); outage.Is(err) {
		return nil, fmt.Errorf("the API server is not ready: %w", err)
	}
	found := &PreflightResult{Mapper: mapper, Namespaces: caches.NewNamespaces(c, namespaces, func(ctx context.Context, namespace string) error {
		return canRead(ctx, reader, namespace)
	}, namespaceUnreadable)}
	return found, found.inspect(ctx, discoverer)
}

func ownKinds() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(podSetKind, meta.RESTScopeNamespace)
	mapper.Add(atKind, meta.RESTScopeNamespace)
	return mapper
}

// inspect reads the properties of the cluster. The error is an invalid setup or an outage.
func (r *PreflightResult) inspect(ctx context.Context, discoverer *discovery.DiscoveryClient) error {
	groups, err := discoverer.ServerGroupsWithContext(ctx)
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server does not accept the operator's credentials: check the kubeconfig or the service account: %w", err)
	case err != nil:
		return fmt.Errorf("cannot reach the API server: %w", err)
	}
	r.OpenShift = slices.ContainsFunc(groups.Groups, func(group metav1.APIGroup) bool {
		return group.Name == "security.openshift.io"
	})
	if err := r.Namespaces.Inspect(ctx); err != nil {
		return err
	}
	return cmp.Or(
		definition.Check(ctx, discoverer.RESTClient(), podSetKind, &appv1alpha1.PodSet{}),
		definition.Check(ctx, discoverer.RESTClient(), atKind, &cnatv1alpha1.At{}))
}

// checkReady returns an error unless the API server is ready. By default this request needs no permission.
func checkReady(ctx context.Context, discoverer *discovery.DiscoveryClient) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return discoverer.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// canRead returns an error unless all kinds that the operator reads can be listed in a namespace. It reads only their
// metadata, so an object that cannot be decoded does not matter.
func canRead(ctx context.Context, reader client.Reader, namespace string) error {
	for _, kind := range []struct {
		schema.GroupVersionKind
		resource string
	}{
		{podSetKind, "podsets.app.example.com"},
		{atKind, "ats.cnat.d2iq.com"},
		{corev1.SchemeGroupVersion.WithKind("Pod"), "pods"},
	} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := reader.List(ctx, list, client.InNamespace(namespace), client.Limit(1))
		where := "in all namespaces"
		if namespace != metav1.NamespaceAll {
			where = "in namespace " + namespace
		}
		switch {
		case apierrors.IsNotFound(err) && kind.Group != corev1.GroupName:
			return fmt.Errorf("the API server does not serve %s: install the custom resource definitions of this release: %w", kind.resource, err)
		case apierrors.IsForbidden(err):
			return fmt.Errorf("%w to list %s %s: bind the operator's role there, or set WATCH_NAMESPACE to namespaces where it is bound: %w", caches.ErrForbidden, kind.resource, where, err)
		case err != nil:
			return fmt.Errorf("trying to list %s %s: %w", kind.resource, where, err)
		}
	}
	return nil
}
