// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// callsMetric is what the figures from the audit log are called.
const callsMetric = "calls"

// auditPolicy has the API server write down every call of an arm once it is answered, and nobody else's.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- {level: Metadata, users: ["` + armUser + `"]}
`

// auditLog is the file into which an API server writes every call of an arm. It makes calls slower, so what is audited is
// not timed.
type auditLog string

// newAuditLog has an API server that is not started yet write an audit log.
func newAuditLog(environment *envtest.Environment, directory string) (auditLog, error) {
	policy, log := filepath.Join(directory, "audit-policy.yaml"), filepath.Join(directory, "audit.log")
	// A file of less than this many MB is not rotated. Only in the mode "blocking" is a call in it once it is answered.
	environment.ControlPlane.GetAPIServer().Configure().Append("audit-policy-file", policy).Append("audit-log-path", log).
		Append("audit-log-maxsize", "100000").Append("audit-log-mode", "blocking")
	return auditLog(log), os.WriteFile(policy, []byte(auditPolicy), 0o600)
}

// call is a line of the audit log.
type call struct {
	Verb, UserAgent string
	ObjectRef       *struct{ Resource, Subresource string }
}

// size is where the next call will be written.
func (l auditLog) size() (int64, error) {
	info, err := os.Stat(string(l))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// since are the calls from a place in the log on that are about the counted resources.
func (l auditLog) since(start int64) ([]call, error) {
	file, err := os.Open(string(l))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(start, io.SeekStart); err != nil {
		return nil, err
	}
	var calls []call
	for lines := json.NewDecoder(file); ; {
		var c call
		if err := lines.Decode(&c); errors.Is(err, io.EOF) {
			return calls, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		if c.ObjectRef != nil && slices.Contains(counted, c.ObjectRef.Resource) {
			calls = append(calls, c)
		}
	}
}

// audit is the second, untimed pass: the same work, with each call of the arms written down.
func (b *bench) audit(ctx context.Context) error {
	for _, a := range b.pick(operatorArm, replicaSetTuned) {
		if err := b.runSets(ctx, a, b.sizes.grids[0], 0); err != nil {
			return fmt.Errorf("arm %s: %w", a.name, err)
		}
	}
	for _, a := range b.pick(operatorArm, cronJobTuned) {
		for _, v := range []volley{burst, overdue} {
			if err := b.fire(ctx, a, 0, b.sizes.bursts[0], v); err != nil {
				return fmt.Errorf("arm %s: %w", a.name, err)
			}
		}
	}
	return nil
}

// addCalls adds the calls of an audited phase, for each pod, set or timer.
func (b *bench) addCalls(what, arm string, asked cost, n int) error {
	if b.cluster.audit == "" {
		return nil
	}
	b.raw.dropCalls(what, arm)
	counts := map[string]float64{}
	for _, c := range asked.calls {
		resource := c.ObjectRef.Resource
		if c.ObjectRef.Subresource != "" {
			resource += "/" + c.ObjectRef.Subresource
		}
		counts[c.Verb+" "+resource]++
		if !slices.Contains(b.raw.Agents[arm], c.UserAgent) {
			b.raw.Agents[arm] = append(b.raw.Agents[arm], c.UserAgent)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		if err := b.add(callsMetric, callCase(what, key), arm, "calls", 0, counts[key]/float64(n)); err != nil {
			return err
		}
	}
	return nil
}
