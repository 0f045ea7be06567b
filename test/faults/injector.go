// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
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

// errStopped is the error of every call of a process that was killed.
var errStopped = errors.New("this process was killed")

// Injector is the fault injector between one process of an operator and the API server. It is an http.RoundTripper that can
// delay or lose every call, or crash the process. The operator itself is not changed.
type Injector struct {
	process int
	log     *Log
	now     func() time.Time

	ctx    context.Context // ends when the process is killed
	cancel context.CancelFunc

	mu    sync.Mutex
	rules []Rule
	gates map[string]*gate
}

func newInjector(process int, log *Log, now func() time.Time) *Injector {
	i := &Injector{process: process, log: log, now: now, gates: map[string]*gate{}}
	i.ctx, i.cancel = context.WithCancel(context.Background())
	return i
}

// Config returns a copy of config whose calls pass through the injector.
func (i *Injector) Config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.ContentType = "application/json" // The log parses requests.
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) { return i.roundTrip(next, req) })
	})
	return config
}

// staleUntil returns when the watches of PodSets and Ats last began to deliver, or now if one of them is held.
func (i *Injector) staleUntil() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	sets, ats := i.gate("podsets").staleUntil(), i.gate("ats").staleUntil()
	if ats.After(sets) {
		return ats
	}
	return sets
}

// Inject adds rules. The first rule that returns a fault for a call applies.
func (i *Injector) Inject(rules ...Rule) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rules = append(i.rules, rules...)
}

// Kill makes every call fail from now on, which looks like a crash to the API server.
func (i *Injector) Kill() { i.cancel() }

// Stopped returns a channel that is closed when the process is killed or ends.
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
	call, err := parseCall(req)
	if err != nil {
		return nil, err
	}
	i.log.call(*call)
	if call.Verb == "watch" {
		return i.watch(next, req, call)
	}
	record := Write{Call: call, Process: i.process, Sent: time.Now(), Clock: i.now(), StaleUntil: i.staleUntil()}
	if Writes(call) {
		// A crash does not cancel requests that are in flight, and the log needs their responses.
		req = req.WithContext(context.WithoutCancel(req.Context()))
		acceptJSON(req)
	}
	send := func() (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil && Writes(call) {
			record.Code = resp.StatusCode
			err = readUID(&record, resp)
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
	i.record(record, resp, err)
	return resp, err
}

// record adds a write to the log, with what the operator received.
func (i *Injector) record(write Write, resp *http.Response, err error) {
	switch {
	case !Writes(write.Call):
		return
	case err != nil:
		write.Fault = err.Error()
	case resp.StatusCode != write.Code:
		write.Fault = resp.Status
	}
	i.log.add(write)
}

// acceptJSON removes protobuf from the accepted content types, because the log parses responses. The metadata client of client-go requests
// protobuf regardless of its configuration.
func acceptJSON(req *http.Request) {
	kinds := slices.DeleteFunc(strings.Split(req.Header.Get("Accept"), ","), func(kind string) bool {
		return strings.Contains(kind, "protobuf")
	})
	req.Header.Set("Accept", strings.Join(kinds, ","))
}

// readUID reads the UID from a response. The body of the response can be read again afterwards.
func readUID(w *Write, resp *http.Response) error {
	data, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(strings.NewReader(string(data)))
	if err != nil {
		return err
	}
	var object struct {
		Metadata metav1.ObjectMeta     `json:"metadata"`
		Details  *metav1.StatusDetails `json:"details"`
	}
	if err := json.Unmarshal(data, &object); err != nil {
		if resp.StatusCode < http.StatusMultipleChoices {
			return fmt.Errorf("parsing a response: %w", err)
		}
		return nil
	}
	w.UID, w.Version = object.Metadata.UID, object.Metadata.ResourceVersion
	if w.Verb == "create" && w.Resource == "pods" && w.UID != "" && metav1.GetControllerOfNoCopy(&object.Metadata) == nil {
		var sent metav1.PartialObjectMetadata
		_ = json.Unmarshal(w.Body, &sent) // A body that is not an object has no owner.
		if owner := metav1.GetControllerOfNoCopy(&sent); owner != nil {
			w.Stripped, w.Owner = true, owner.UID
		}
	}
	if w.UID == "" && object.Details != nil {
		w.UID = object.Details.UID
	}
	if w.Name == "" || strings.HasSuffix(w.Name, "-") {
		w.Name = object.Metadata.Name
	}
	return nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
