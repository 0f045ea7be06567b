// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/operator-framework/operator-lib/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
)

// operatorConditionEnvVar names the OperatorCondition of this installation. OLM v0 sets it; nobody else does.
const operatorConditionEnvVar = "OPERATOR_CONDITION_NAME"

const (
	upgradeInterval = 5 * time.Second
	// An upgrade waits for an At that is due within a minute, which is more than the operator's restart takes,
	dueSoon = time.Minute
	// but for no more than 10 minutes in a row,
	maxUpgradeDelay = 10 * time.Minute
	// and then has a minute to begin.
	upgradeWindow = time.Minute
)

// Upgradeable tells OLM whether this is a good moment to replace the operator.
type Upgradeable struct {
	reader    client.Reader
	condition conditions.Condition
	clock     clock.WithTicker
	gate      upgradeGate
}

// AddUpgradeable adds the reporter of the condition Upgradeable to mgr. Outside of an installation by OLM v0 it adds
// nothing. Its client has no cache, since OLM grants access to this one object, not to list its kind.
func AddUpgradeable(mgr ctrl.Manager, config *rest.Config, c clock.WithTicker) error {
	if os.Getenv(operatorConditionEnvVar) == "" {
		return nil
	}
	scheme := runtime.NewScheme()
	if err := apiv2.AddToScheme(scheme); err != nil {
		return fmt.Errorf("registering OperatorCondition: %w", err)
	}
	uncached, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("making the client for the OperatorCondition: %w", err)
	}
	condition, err := conditions.InClusterFactory{Client: uncached}.NewCondition(apiv2.ConditionType(apiv2.Upgradeable))
	if err != nil {
		return fmt.Errorf("finding the OperatorCondition: %w", err)
	}
	return mgr.Add(&Upgradeable{reader: mgr.GetClient(), condition: condition, clock: c})
}

// Start reports each change until ctx is done.
func (u *Upgradeable) Start(ctx context.Context) error {
	ticker := u.clock.NewTicker(upgradeInterval)
	defer ticker.Stop()
	reported := metav1.ConditionUnknown
	for {
		if status, err := u.report(ctx, reported); err != nil {
			log.FromContext(ctx).Error(err, "cannot report to OLM whether an upgrade may begin; trying again")
		} else {
			reported = status
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// report writes the condition if it is not what was reported last, and returns it.
func (u *Upgradeable) report(ctx context.Context, reported metav1.ConditionStatus) (metav1.ConditionStatus, error) {
	ats := &cnatv1alpha1.AtList{}
	if err := u.reader.List(ctx, ats, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("listing Ats: %w", err)
	}
	now := u.clock.Now()
	waiting := slices.ContainsFunc(ats.Items, func(item cnatv1alpha1.At) bool { return at.IsDueWithin(&item, now, dueSoon) })
	status, reason, message := u.gate.judge(now, waiting)
	if status == reported {
		return status, nil
	}
	if err := u.condition.Set(ctx, status, conditions.WithReason(reason), conditions.WithMessage(message)); err != nil {
		return "", fmt.Errorf("writing the OperatorCondition: %w", err)
	}
	log.FromContext(ctx).Info("told OLM whether an upgrade may begin", "upgradeable", status, "reason", reason)
	return status, nil
}

// upgradeGate remembers how long an upgrade has had to wait.
type upgradeGate struct {
	closedAt time.Time // zero while open
	openedAt time.Time // when the longest wait was over; zero unless it was
}

// judge decides on the condition at one moment.
func (g *upgradeGate) judge(now time.Time, waiting bool) (status metav1.ConditionStatus, reason, message string) {
	switch {
	case !waiting:
		*g = upgradeGate{}
		return metav1.ConditionTrue, "NoAtDueSoon", "no At is due within the next minute"
	case !g.openedAt.IsZero() && now.Before(g.openedAt.Add(upgradeWindow)):
	case !g.closedAt.IsZero() && !now.Before(g.closedAt.Add(maxUpgradeDelay)):
		*g = upgradeGate{openedAt: now}
	default:
		if g.closedAt.IsZero() {
			*g = upgradeGate{closedAt: now}
		}
		return metav1.ConditionFalse, "AtDueSoon", "an At is due within the next minute: an upgrade now would make it late"
	}
	return metav1.ConditionTrue, "WaitedLongEnough", "Ats have kept an upgrade waiting for 10 minutes: it may begin now"
}
