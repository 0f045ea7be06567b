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

// errDead is what every call of a crashed incarnation gets.
var errDead = errors.New("this incarnation has crashed")

// Wire is all that lies between one incarnation of an operator and the API server. Every call passes it and is
// delayed, refused, lost or rewritten there; the reconcilers are not touched.
type Wire struct {
	incarnation int
	log         *Log
	now         func() time.Time

	life context.Context // ends with the incarnation
	kill context.CancelFunc

	mu    sync.Mutex
	rules []Rule
	past  map[string]string // resource -> the resource version of the first list
	gates map[string]*gate
}

func newWire(incarnation int, log *Log, now func() time.Time) *Wire {
	w := &Wire{incarnation: incarnation, log: log, now: now, past: map[string]string{}, gates: map[string]*gate{}}
	w.life, w.kill = context.WithCancel(context.Background())
	return w
}

// Config returns a copy of config whose calls go through the wire.
func (w *Wire) Config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.ContentType = "application/json" // The log reads what is sent.
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) { return w.roundTrip(next, req) })
	})
	return config
}

// blind returns until when the incarnation was not told of owners.
func (w *Wire) blind() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	sets, ats := w.gate("podsets").blind(), w.gate("ats").blind()
	if ats.After(sets) {
		return ats
	}
	return sets
}

// Inject adds a rule. The first rule that has a fault for a call decides.
func (w *Wire) Inject(rules ...Rule) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rules = append(w.rules, rules...)
}

// Heal drops all rules.
func (w *Wire) Heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rules = nil
}

// Kill cuts the wire for ever: that is what the world sees of a crash.
func (w *Wire) Kill() { w.kill() }

// Dead is closed once the wire is cut.
func (w *Wire) Dead() <-chan struct{} { return w.life.Done() }

func (w *Wire) fault(call *Call) Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, rule := range w.rules {
		if fault := rule(call); fault != nil {
			return fault
		}
	}
	return nil
}

func (w *Wire) roundTrip(next http.RoundTripper, req *http.Request) (*http.Response, error) {
	if w.life.Err() != nil {
		return nil, errDead
	}
	req = req.Clone(req.Context())
	call, err := callOf(req)
	if err != nil {
		return nil, err
	}
	w.log.call(*call)
	if call.Verb == "watch" {
		return w.watch(next, req, call)
	}
	w.rewriteFirstList(req, call)
	record := Write{Call: call, Incarnation: w.incarnation, Sent: time.Now(), Clock: w.now(), Blind: w.blind()}
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
	if f := w.fault(call); f != nil {
		fault = f
	}
	resp, err := fault(call, send)
	if err == nil && w.life.Err() != nil {
		_ = resp.Body.Close()
		resp, err = nil, errDead
	}
	if Writes(call) {
		switch {
		case err != nil:
			record.Fault = err.Error()
		case resp.StatusCode != record.Code:
			record.Fault = resp.Status
		}
		w.log.add(record)
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

// TravelTo makes the first list of a resource that accepts any age show the world as it was at a resource version, which is
// what an API server that lags behind may answer. A list of the latest state is answered truthfully. Streamed lists are
// rejected, so that an informer has to list.
func (w *Wire) TravelTo(resourceVersion string, resources ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, resource := range resources {
		w.past[resource] = resourceVersion
	}
}

// rewriteFirstList is the other half of TravelTo. The first list of an informer of client-go accepts any age. Those of our
// operator do not, which the judge of L1 checks.
func (w *Wire) rewriteFirstList(req *http.Request, call *Call) {
	query := req.URL.Query()
	if call.Verb != "list" || !call.AnyAge {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if version, ok := w.past[call.Resource]; ok {
		delete(w.past, call.Resource)
		query.Set("resourceVersion", version)
		query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
		req.URL.RawQuery = query.Encode()
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
