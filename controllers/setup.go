// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers connects the two kinds to a cluster. The rules are in internal/podset and internal/at. The
// packages in internal/kube talk to the API server and do not depend on a kind.
package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/kube/caches"
	"github.com/redhat/podset-operator/internal/kube/olm"
	"github.com/redhat/podset-operator/internal/podset"
)

// Options are the settings of the controllers from the environment of the process.
type Options struct {
	// Clock provides the current time.
	Clock clock.WithTicker
	// Image is the image of pods without a template.
	Image string
	// PullSecrets are the secrets with which this image is pulled, in the namespace of the pod.
	PullSecrets []corev1.LocalObjectReference
	// OpenShift is true if the cluster is OpenShift, which assigns the user of a pod itself.
	OpenShift bool
	// Proxy are the proxy variables of the pods of Ats without a template.
	Proxy []corev1.EnvVar
	// NewRecorder returns the event recorder of a controller, or is nil to use that of the manager.
	NewRecorder func(controller string) events.EventRecorder
	// OmitCommands leaves the commands of Ats out of the log.
	OmitCommands bool
}

// ConfigureCaches sets the options of a manager so that it caches what the controllers need, in these namespaces or, if
// there are none, in all namespaces. The caches are filled when the manager becomes the leader. The API server rejects
// a write of a field that a custom resource definition does not have, instead of dropping the field, which could be the
// record of a run. Add requires all this.
func ConfigureCaches(o *ctrl.Options, namespaces []string) {
	o.Client.FieldValidation = metav1.FieldValidationStrict
	o.Cache.DefaultTransform = trim
	o.Cache.DefaultNamespaces = map[string]cache.Config{}
	for _, namespace := range namespaces {
		o.Cache.DefaultNamespaces[namespace] = cache.Config{}
	}
	ownedPods.Configure(&o.Cache)
	o.NewCache = caches.NewLeaderCache
}

// Add adds both controllers to mgr, whose options were set by ConfigureCaches.
func Add(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if err := caches.FillWhenLeading(mgr); err != nil {
		return fmt.Errorf("the manager needs ConfigureCaches: %w", err)
	}
	if err := caches.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	recorder := o.NewRecorder
	if recorder == nil {
		recorder = func(controller string) events.EventRecorder { return mgr.GetEventRecorder(controller) }
	}
	podSets := &PodSetReconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Recorder: recorder("podset-controller"),
		Clock: o.Clock, Defaults: podset.Defaults{Image: o.Image, PullSecrets: o.PullSecrets, FixedUser: !o.OpenShift},
	}
	ats := &AtReconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Recorder: recorder("at-controller"),
		Clock: o.Clock, Defaults: at.Defaults{Image: o.Image, PullSecrets: o.PullSecrets, FixedUser: !o.OpenShift, Proxy: o.Proxy},
		OmitCommands: o.OmitCommands,
	}
	return errors.Join(podSets.setup(caches.WithoutCacheSync(mgr)), ats.setup(caches.WithoutCacheSync(mgr)))
}

// AddUpgradeable makes mgr report to Operator Lifecycle Manager whether it may replace the operator now: not while an
// At is due soon. Without OLM v0 it does nothing.
func AddUpgradeable(mgr ctrl.Manager, c clock.WithTicker) error {
	return olm.Add(mgr, mgr.GetConfig(), c, func(ctx context.Context) (bool, error) { return isAtDueSoon(ctx, mgr, c) })
}

// isAtDueSoon reports whether an At is due within olm.DueSoon. It waits until the process leads and its cache is
// filled.
func isAtDueSoon(ctx context.Context, mgr ctrl.Manager, c clock.WithTicker) (bool, error) {
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-mgr.Elected():
	}
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return false, errors.New("the cache is not filled")
	}
	ats := &cnatv1alpha1.AtList{}
	if err := mgr.GetClient().List(ctx, ats, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing Ats: %w", err)
	}
	now := c.Now()
	return slices.ContainsFunc(ats.Items, func(item cnatv1alpha1.At) bool { return at.IsDueWithin(&item, now, olm.DueSoon) }), nil
}
