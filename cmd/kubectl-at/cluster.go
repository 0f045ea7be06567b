// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	kubectlscheme "k8s.io/kubectl/pkg/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

var atKind = cnatv1alpha1.GroupVersion.WithKind("At")

// scheme has all kinds of kubectl, and those of the operator.
var scheme = kubectlscheme.Scheme

func init() { utilruntime.Must(cnatv1alpha1.AddToScheme(scheme)) }

// cluster is a connection to the API server, and the namespace to work in.
type cluster struct {
	client.WithWatch

	rest      *rest.Config
	namespace string
}

// connect returns the cluster that the flags and the kubeconfig name. It sends nothing yet.
func (p *plugin) connect() (*cluster, error) {
	config, err := p.config.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	namespace, _, err := p.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	config.UserAgent = "kubectl-at/" + version
	config.WarningHandler = rest.NewWarningWriter(p.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	// The kinds are known, so the API server is not asked for them: the first answer is the one that counts.
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{
		authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"), authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"),
	} {
		mapper.Add(kind, meta.RESTScopeRoot)
	}
	for _, kind := range []schema.GroupVersionKind{
		atKind, corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
		corev1.SchemeGroupVersion.WithKind("Service"), corev1.SchemeGroupVersion.WithKind("Event"), networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
	} {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return &cluster{WithWatch: c, rest: config, namespace: namespace}, nil
}

// key names an object in the namespace.
func (c *cluster) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: c.namespace, Name: name}
}

// userName returns the name of the user as the API server knows it.
func (c *cluster) userName(ctx context.Context) (string, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.Create(ctx, review); err != nil {
		return "", err
	}
	return review.Status.UserInfo.Username, nil
}

// mayCreatePods reports whether the user may create pods in the namespace.
func (c *cluster) mayCreatePods(ctx context.Context) (bool, error) {
	create := &authorizationv1.ResourceAttributes{Namespace: c.namespace, Verb: "create", Resource: "pods"}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: create}}
	err := c.Create(ctx, review)
	return review.Status.Allowed, err
}
