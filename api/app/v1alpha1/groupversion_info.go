// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the API of PodSet, group app.example.com.
// +kubebuilder:object:generate=true
// +groupName=app.example.com
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind of this package.
var GroupVersion = schema.GroupVersion{Group: "app.example.com", Version: "v1alpha1"}

// schemeBuilder collects the kinds of this package.
var schemeBuilder = runtime.NewSchemeBuilder(func(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &PodSet{}, &PodSetList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
})

// AddToScheme registers the kinds of this package.
var AddToScheme = schemeBuilder.AddToScheme
