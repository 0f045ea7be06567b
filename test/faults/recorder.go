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

// recorder is between one process of an operator and the API server. It records every call, and can kill the process, which makes every
// call fail from then on. To the API server, this looks like a crash.
type recorder struct {
	process int
	log     *Log
	ctx     context.Context // ends when the process is killed
	kill    context.CancelFunc

	mu       sync.Mutex
	watching time.Time // when a watch of PodSets or Ats last began
}

func newRecorder(process int, log *Log) *recorder {
	r := &recorder{process: process, log: log}
	r.ctx, r.kill = context.WithCancel(context.Background())
	return r
}

// config returns a copy of a configuration whose calls pass through the recorder.
func (r *recorder) config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.ContentType = "application/json" // The log parses requests.
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) { return r.roundTrip(next, req) })
	})
	return config
}

func (r *recorder) roundTrip(next http.RoundTripper, req *http.Request) (*http.Response, error) {
	if r.ctx.Err() != nil {
		return nil, errStopped
	}
	req = req.Clone(req.Context())
	call, err := parseCall(req)
	if err != nil {
		return nil, err
	}
	r.log.call(*call)
	if !Writes(call) {
		return r.read(next, req, call)
	}
	// A crash does not cancel requests that are in flight, and the log needs their responses.
	req = req.WithContext(context.WithoutCancel(req.Context()))
	acceptJSON(req)
	write := Write{Call: call, Process: r.process, Sent: time.Now(), Clock: time.Now(), StaleUntil: r.staleUntil()}
	resp, err := next.RoundTrip(req)
	if err == nil {
		write.Code = resp.StatusCode
		err = readUID(&write, resp)
	}
	if err == nil && r.ctx.Err() != nil {
		err = errStopped
	}
	if err != nil { // The operator does not know whether the API server has committed the call.
		write.Fault, resp = err.Error(), nil
	}
	r.log.add(write)
	return resp, err
}

// read sends a call that changes nothing. A watch ends with the process.
func (r *recorder) read(next http.RoundTripper, req *http.Request, call *Call) (*http.Response, error) {
	if call.Verb != "watch" {
		return next.RoundTrip(req)
	}
	ctx, cancel := context.WithCancel(req.Context())
	context.AfterFunc(r.ctx, cancel)
	resp, err := next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	if call.Resource != "pods" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.watching = time.Now()
	}
	return resp, nil
}

// staleUntil returns when a watch of PodSets or Ats last began. A cache can be older than this moment.
func (r *recorder) staleUntil() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.watching
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
