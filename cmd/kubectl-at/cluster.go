// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// sourceKind is a kind that --from takes without asking the API server for it.
type sourceKind struct {
	kind  schema.GroupVersionKind
	names []string // in lower case, the longest form first
}

var sources = []sourceKind{
	{appsv1.SchemeGroupVersion.WithKind("Deployment"), []string{"deployments", "deployment", "deploy"}},
	{appsv1.SchemeGroupVersion.WithKind("StatefulSet"), []string{"statefulsets", "statefulset", "sts"}},
	{appsv1.SchemeGroupVersion.WithKind("DaemonSet"), []string{"daemonsets", "daemonset", "ds"}},
	{appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), []string{"replicasets", "replicaset", "rs"}},
	{corev1.SchemeGroupVersion.WithKind("ReplicationController"), []string{"replicationcontrollers", "replicationcontroller", "rc"}},
	{batchv1.SchemeGroupVersion.WithKind("Job"), []string{"jobs", "job"}},
	{batchv1.SchemeGroupVersion.WithKind("CronJob"), []string{"cronjobs", "cronjob", "cj"}},
	{appv1alpha1.GroupVersion.WithKind("PodSet"), []string{"podsets", "podset", "pset"}},
	{corev1.SchemeGroupVersion.WithKind("Pod"), []string{"pods", "pod", "po"}},
	{atKind, []string{"ats", "at"}},
}

// findKind returns the kind of a resource as kubectl names it: deploy, deployment.apps, or deployments.v1.apps, in any case. It is empty
// if it is not one of the sources.
func findKind(resource string) schema.GroupVersionKind {
	name, group, qualified := strings.Cut(strings.ToLower(resource), ".")
	for _, s := range sources {
		if slices.Contains(s.names, name) && (!qualified || group == s.kind.Group || group == s.kind.Version+"."+s.kind.Group) {
			return s.kind
		}
	}
	return schema.GroupVersionKind{}
}

var atKind = cnatv1alpha1.GroupVersion.WithKind("At")

// scheme has the kinds that the plugin works on: Ats, their pods, who the user is, and what the user may do.
var scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme, cnatv1alpha1.AddToScheme} {
		utilruntime.Must(add(s))
	}
	return s
}

// cluster is a connection to the API server, and the namespace to work in.
type cluster struct {
	client.WithWatch

	rest      *rest.Config
	mapper    *meta.DefaultRESTMapper
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
	mapper := newMapper()
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return &cluster{WithWatch: c, rest: config, mapper: mapper, namespace: namespace}, nil
}

// newMapper returns the resources of the kinds that the plugin asks for.
func newMapper() *meta.DefaultRESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	mapper.Add(authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"), meta.RESTScopeRoot)
	mapper.Add(authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"), meta.RESTScopeRoot)
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), corev1.SchemeGroupVersion.WithKind("Service"), networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
	} {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	for _, s := range sources {
		mapper.Add(s.kind, meta.RESTScopeNamespace)
	}
	return mapper
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
