// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package olm reports to Operator Lifecycle Manager whether it may replace the operator now.
package olm

import (
	"context"
	"fmt"
	"os"
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
)

// operatorConditionEnvVar is set by OLM v0 only, to the name of the OperatorCondition of this installation.
const operatorConditionEnvVar = "OPERATOR_CONDITION_NAME"

const (
	upgradeInterval = 5 * time.Second
	// DueSoon is how long upgrades are delayed before work is due. A restart of the operator takes less time.
	DueSoon = time.Minute
	// maxUpgradeDelay is the longest delay of an upgrade.
	maxUpgradeDelay = 10 * time.Minute
	// openTimeout limits the last report. Another process can lead 5 s after this one has lost its lease, and then
	// reports.
	openTimeout = 3 * time.Second
)

// upgradeable reports the condition Upgradeable.
type upgradeable struct {
	waiting   func(context.Context) (bool, error)
	condition conditions.Condition
	clock     clock.WithTicker
	gate      upgradeGate
	// mayBeFalse is set if this process has written False, or tried to, and has not written True since.
	mayBeFalse bool
}

// Add adds the reporter of the condition Upgradeable to mgr. Outside an installation by OLM v0 it adds nothing. waiting
// reports whether work is due within DueSoon. The reporter's client has no cache, because OLM grants access to this one
// object and not to list its kind.
func Add(mgr ctrl.Manager, config *rest.Config, c clock.WithTicker, waiting func(context.Context) (bool, error)) error {
	if os.Getenv(operatorConditionEnvVar) == "" {
		return nil
	}
	scheme := runtime.NewScheme()
	if err := apiv2.AddToScheme(scheme); err != nil {
		return fmt.Errorf("registering OperatorCondition: %w", err)
	}
	uncached, err := client.New(config, client.Options{Scheme: scheme, FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		return fmt.Errorf("creating the client for the OperatorCondition: %w", err)
	}
	condition, err := conditions.InClusterFactory{Client: uncached}.NewCondition(apiv2.ConditionType(apiv2.Upgradeable))
	if err != nil {
		return fmt.Errorf("environment variable %s: finding the OperatorCondition: %w", operatorConditionEnvVar, err)
	}
	return mgr.Add(&upgradeable{waiting: waiting, condition: condition, clock: c})
}

// Start reports each change until ctx is done. Then an upgrade may begin, because it cannot delay work more than the
// end of this process does.
func (u *upgradeable) Start(ctx context.Context) error {
	defer u.open(ctx)
	ticker := u.clock.NewTicker(upgradeInterval)
	defer ticker.Stop()
	reported := metav1.ConditionUnknown
	for {
		status, err := u.report(ctx, reported)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			log.FromContext(ctx).Error(err, "Cannot report to OLM whether an upgrade may begin, retrying")
		default:
			reported = status
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// open reports that an upgrade may begin, if this process has reported that none may. The next process may be unable to
// start, and an upgrade may be the fix.
func (u *upgradeable) open(ctx context.Context) {
	if !u.mayBeFalse {
		return
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTimeout)
	defer cancel()
	err := u.set(last, metav1.ConditionTrue, "ManagerStopped", "the manager has stopped: an upgrade delays nothing")
	if err != nil {
		log.FromContext(ctx).Info("Cannot report to OLM that an upgrade may begin: it waits for the next manager to report", "error", err.Error())
	}
}

func (u *upgradeable) set(ctx context.Context, status metav1.ConditionStatus, reason, message string) error {
	u.mayBeFalse = u.mayBeFalse || status == metav1.ConditionFalse
	if err := u.condition.Set(ctx, status, conditions.WithReason(reason), conditions.WithMessage(message)); err != nil {
		return fmt.Errorf("writing the OperatorCondition: %w", err)
	}
	u.mayBeFalse = status == metav1.ConditionFalse
	log.FromContext(ctx).Info("Reported to OLM whether an upgrade may begin", "upgradeable", status, "reason", reason)
	return nil
}

// report writes the condition if it differs from the last report, and returns it.
func (u *upgradeable) report(ctx context.Context, reported metav1.ConditionStatus) (metav1.ConditionStatus, error) {
	waiting, err := u.waiting(ctx)
	if err != nil {
		return "", err
	}
	status, reason, message := u.gate.decide(u.clock.Now(), waiting)
	if status == reported {
		return status, nil
	}
	return status, u.set(ctx, status, reason, message)
}

// upgradeGate remembers since when work has been due soon, or zero if none is.
type upgradeGate struct{ since time.Time }

func (g *upgradeGate) decide(now time.Time, waiting bool) (status metav1.ConditionStatus, reason, message string) {
	switch {
	case !waiting:
		g.since = time.Time{}
		return metav1.ConditionTrue, "NothingDueSoon", "nothing is due within the next minute"
	case g.since.IsZero():
		g.since = now
	case !now.Before(g.since.Add(maxUpgradeDelay)):
		return metav1.ConditionTrue, "WaitedLongEnough", "work that was due has delayed an upgrade for 10 minutes: it may begin now"
	}
	return metav1.ConditionFalse, "DueSoon", "work is due within the next minute: an upgrade now would delay it"
}
