// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// scheme has the kinds of the plugin: Ats, their pods, what --from takes, and who the user is.
var scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, authenticationv1.AddToScheme, appv1alpha1.AddToScheme, cnatv1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(s))
	}
	return s
}

// cluster is a connection to the API server, and the namespace to work in.
type cluster struct {
	client.WithWatch
	config    *rest.Config
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
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: newMapper()})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return &cluster{WithWatch: c, config: config, namespace: namespace}, nil
}

// connectTo returns the cluster, and the name of the At that an argument names.
func (p *plugin) connectTo(argument string) (*cluster, string, error) {
	name, err := nameOf(argument)
	if err != nil {
		return nil, "", err
	}
	c, err := p.connect()
	return c, name, err
}

// newMapper returns the resources of the kinds that the plugin asks for.
func newMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot) // for completion
	mapper.Add(authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"), meta.RESTScopeRoot)
	for _, source := range sources {
		mapper.Add(source.kind, meta.RESTScopeNamespace)
	}
	return mapper
}

// key names an object in the namespace.
func (c *cluster) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: c.namespace, Name: name}
}
