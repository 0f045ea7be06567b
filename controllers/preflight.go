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
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/redhat/podset-operator/internal/kube/caches"
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
	// Mapper has the kinds that the controllers use, so that they can be set up without further requests. It has both custom kinds even
	// before their custom resource definitions are installed.
	Mapper meta.RESTMapper
	// Namespaces reports which of the watched namespaces can be read.
	Namespaces *caches.Namespaces
}

// Preflight checks the cluster at the start, because a problem would otherwise appear only as endless retries in the log. It waits while
// the API server is unreachable, overloaded, or starting. It returns an error for a permanent problem: wrong credentials, or missing
// permissions in all of the namespaces or, if there are none, in the cluster. The error is one line with the remedy. A missing CRD is
// logged: the other kind is served now, and this one as soon as it is installed.
func Preflight(ctx context.Context, c clock.WithTicker, config *rest.Config, scheme *runtime.Scheme, namespaces []string) (*PreflightResult, error) {
	config = rest.CopyConfig(config)
	config.Timeout = preflightTimeout
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	var found *PreflightResult
	err := outage.Wait(ctx, c, config.Host, func(ctx context.Context) (err, transient error) {
		found, err, transient = attempt(ctx, c, config, scheme, namespaces)
		return err, transient
	})
	return found, err
}

// reportMissing logs which namespaces do not exist, if it has permission to read them: the operator's own role does not have it, but an
// administrator who runs the operator outside the cluster does. This is not an error, because a namespace may be created later.
func reportMissing(ctx context.Context, reader client.Reader, namespaces []string) {
	for _, name := range namespaces {
		namespace := &metav1.PartialObjectMetadata{}
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		if name != metav1.NamespaceAll && apierrors.IsNotFound(reader.Get(ctx, client.ObjectKey{Name: name}, namespace)) {
			log.FromContext(ctx).Info("A namespace of WATCH_NAMESPACE does not exist. It is served once it is created", "namespace", name)
		}
	}
}

// attempt is one attempt of Preflight. transient is not nil if the API server may still be starting, so a retry can succeed.
func attempt(ctx context.Context, c clock.WithTicker, config *rest.Config, scheme *runtime.Scheme, namespaces []string) (found *PreflightResult, err, transient error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of the cluster: %w", err), nil
	}
	// The next attempt opens a new connection, which a load balancer can route to another API server.
	defer utilnet.CloseIdleConnectionsFor(httpClient.Transport)
	discoverer, discovererErr := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	served, mapperErr := apiutil.NewDynamicRESTMapper(config, httpClient)
	mapper := meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{ownKinds(), served}}
	reader, readerErr := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: mapper, HTTPClient: httpClient})
	if err := cmp.Or(discovererErr, mapperErr, readerErr); err != nil {
		return nil, fmt.Errorf("reading the configuration of the cluster: %w", err), nil
	}
	found = &PreflightResult{Mapper: mapper, Namespaces: caches.NewNamespaces(c, namespaces, func(ctx context.Context, namespace string) error {
		return canRead(ctx, reader, namespace)
	}, caches.NewDefinitions(c, discoverer.RESTClient(), scheme), namespaceUnreadable)}
	// While it starts, an API server can reject a request that it accepts a moment later, and can lack kinds and groups that it serves a
	// moment later. A denial counts only if the API server was ready before it.
	notReady := checkReady(ctx, discoverer)
	if outage.Is(notReady) {
		return nil, fmt.Errorf("the API server is not ready: %w", notReady), nil
	}
	err = found.inspect(ctx, discoverer)
	denied := err != nil && !outage.Is(err) || found.Namespaces.Unreadable() > 0
	if denied && notReady != nil { // The operator may lack permission to read /readyz.
		return found, err, fmt.Errorf("cannot find out whether the API server is ready: %w", notReady)
	}
	if err == nil {
		reportMissing(ctx, reader, namespaces)
	}
	return found, err, nil
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
	return r.Namespaces.Inspect(ctx)
}

// checkReady returns an error unless the API server is ready. By default this request needs no permission.
func checkReady(ctx context.Context, discoverer *discovery.DiscoveryClient) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return discoverer.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// canRead returns an error unless all kinds that the operator reads can be listed and watched in a namespace, except custom kinds that the
// API server does not serve. It reads only their metadata, so an object that cannot be decoded does not matter.
func canRead(ctx context.Context, reader client.WithWatch, namespace string) error {
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
		verb := "list"
		err := reader.List(ctx, list, client.InNamespace(namespace), client.Limit(1))
		if err == nil {
			verb = "watch"
			err = canWatch(ctx, reader, list, namespace)
		}
		where := "in all namespaces"
		if namespace != metav1.NamespaceAll {
			where = "in namespace " + namespace
		}
		switch {
		case apierrors.IsNotFound(err) && kind.Group != corev1.GroupName: // caches.Namespaces logs this.
		case apierrors.IsForbidden(err):
			return fmt.Errorf("%w to %s %s %s: bind the operator's role there, or set WATCH_NAMESPACE to namespaces where it is bound: %w", caches.ErrForbidden, verb, kind.resource, where, err)
		case err != nil:
			return fmt.Errorf("trying to %s %s %s: %w", verb, kind.resource, where, err)
		}
	}
	return nil
}

// canWatch returns an error unless the changes after a list can be watched.
func canWatch(ctx context.Context, reader client.WithWatch, list client.ObjectList, namespace string) error {
	// Without a resource version the API server would send all objects.
	options := &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}
	events, err := reader.Watch(ctx, list, client.InNamespace(namespace), &client.ListOptions{Raw: options})
	if err == nil {
		events.Stop()
	}
	return err
}
