// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// errStopped is what every call of a crashed process gets.
var errStopped = errors.New("this process has crashed")

// Injector is all that lies between one process of an operator and the API server. Every call passes it and is
// delayed, refused, lost or rewritten there; the reconcilers are not touched.
type Injector struct {
	process int
	log     *Log
	now     func() time.Time

	ctx    context.Context // ends with the process
	cancel context.CancelFunc

	mu          sync.Mutex
	rules       []Rule
	oldVersions map[string]string // resource -> the resource version of the first list
	gates       map[string]*gate
}

func newInjector(process int, log *Log, now func() time.Time) *Injector {
	i := &Injector{process: process, log: log, now: now, oldVersions: map[string]string{}, gates: map[string]*gate{}}
	i.ctx, i.cancel = context.WithCancel(context.Background())
	return i
}

// Config returns a copy of config whose calls go through the injector.
func (i *Injector) Config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.ContentType = "application/json" // The log reads what is sent.
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) { return i.roundTrip(next, req) })
	})
	return config
}

// blind returns until when the process was not told of owners.
func (i *Injector) staleUntil() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	sets, ats := i.gate("podsets").staleUntil(), i.gate("ats").staleUntil()
	if ats.After(sets) {
		return ats
	}
	return sets
}

// Inject adds a rule. The first rule that has a fault for a call decides.
func (i *Injector) Inject(rules ...Rule) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rules = append(i.rules, rules...)
}

// ClearRules drops all rules.
func (i *Injector) ClearRules() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rules = nil
}

// Kill cuts the injector for ever: that is what the world sees of a crash.
func (i *Injector) Kill() { i.cancel() }

// Stopped is closed once the injector is cut.
func (i *Injector) Stopped() <-chan struct{} { return i.ctx.Done() }

func (i *Injector) fault(call *Call) Fault {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, rule := range i.rules {
		if fault := rule(call); fault != nil {
			return fault
		}
	}
	return nil
}

func (i *Injector) roundTrip(next http.RoundTripper, req *http.Request) (*http.Response, error) {
	if i.ctx.Err() != nil {
		return nil, errStopped
	}
	req = req.Clone(req.Context())
	call, err := callOf(req)
	if err != nil {
		return nil, err
	}
	i.log.call(*call)
	if call.Verb == "watch" {
		return i.watch(next, req, call)
	}
	i.rewriteFirstList(req, call)
	record := Write{Call: call, Process: i.process, Sent: time.Now(), Clock: i.now(), StaleUntil: i.staleUntil()}
	if Writes(call) {
		// A crash does not recall what is on its way, and the log must know what came of it.
		req = req.WithContext(context.WithoutCancel(req.Context()))
		acceptJSON(req)
	}
	send := func() (*http.Response, error) {
		if req.Body != nil { // A fault may have changed it.
			req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(call.Body)), int64(len(call.Body))
		}
		resp, err := next.RoundTrip(req)
		if err == nil && Writes(call) {
			record.Code = resp.StatusCode
			err = record.readUID(resp)
		}
		return resp, err
	}
	fault := pass
	if f := i.fault(call); f != nil {
		fault = f
	}
	resp, err := fault(call, send)
	if err == nil && i.ctx.Err() != nil {
		_ = resp.Body.Close()
		resp, err = nil, errStopped
	}
	if Writes(call) {
		switch {
		case err != nil:
			record.Fault = err.Error()
		case resp.StatusCode != record.Code:
			record.Fault = resp.Status
		}
		i.log.add(record)
	}
	return resp, err
}

// acceptJSON takes protobuf off the list of what the answer may be: the log reads it. The client for metadata asks for it
// whatever its configuration says.
func acceptJSON(req *http.Request) {
	kinds := slices.DeleteFunc(strings.Split(req.Header.Get("Accept"), ","), func(kind string) bool {
		return strings.Contains(kind, "protobuf")
	})
	req.Header.Set("Accept", strings.Join(kinds, ","))
}

// readUID takes the UID out of an answer, which can be read again afterwards.
func (w *Write) readUID(resp *http.Response) error {
	data, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(strings.NewReader(string(data)))
	if err != nil {
		return err
	}
	var answer struct {
		Metadata metav1.ObjectMeta     `json:"metadata"`
		Details  *metav1.StatusDetails `json:"details"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		if resp.StatusCode < http.StatusMultipleChoices {
			return fmt.Errorf("an answer that the log cannot read: %w", err)
		}
		return nil
	}
	w.UID, w.Version = answer.Metadata.UID, answer.Metadata.ResourceVersion
	if w.UID == "" && answer.Details != nil {
		w.UID = answer.Details.UID
	}
	if w.Name == "" || strings.HasSuffix(w.Name, "-") {
		w.Name = answer.Metadata.Name
	}
	return nil
}

// TimeTravel makes the first list of a resource that accepts any age show the world as it was at a resource version, which is
// what an API server that lags behind may answer. A list of the latest state is answered truthfully. Streamed lists are
// rejected, so that an informer has to list.
func (i *Injector) TimeTravel(resourceVersion string, resources ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, resource := range resources {
		i.oldVersions[resource] = resourceVersion
	}
}

// rewriteFirstList is the other half of TimeTravel. The first list of an informer of client-go accepts any age. Those of our
// operator do not, which the judge of L1 checks.
func (i *Injector) rewriteFirstList(req *http.Request, call *Call) {
	query := req.URL.Query()
	if call.Verb != "list" || !call.AnyAge {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if version, ok := i.oldVersions[call.Resource]; ok {
		delete(i.oldVersions, call.Resource)
		query.Set("resourceVersion", version)
		query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
		req.URL.RawQuery = query.Encode()
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
