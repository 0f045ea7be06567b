// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault responds to a call instead of the API server. It may call send, which passes the call on and returns the response.
type Fault func(call *Call, send func() (*http.Response, error)) (*http.Response, error)

// Rule returns the fault for a call, or nil if there is none. An injector calls its rules for one call at a time.
type Rule func(*Call) Fault

func pass(_ *Call, send func() (*http.Response, error)) (*http.Response, error) { return send() }

// Each applies a fault to every call that matches.
func Each(match Match, fault Fault) Rule {
	return func(c *Call) Fault {
		if !match(c) {
			return nil
		}
		return fault
	}
}

// Nth applies a fault to the n-th call that matches, counted from 1.
func Nth(n int, match Match, fault Fault) Rule {
	return func(c *Call) Fault {
		if !match(c) {
			return nil
		}
		if n--; n != 0 {
			return nil
		}
		return fault
	}
}

// EverySecond applies a fault to the second call that matches, the fourth, and so on.
func EverySecond(match Match, fault Fault) Rule {
	apply := true
	return func(c *Call) Fault {
		if !match(c) {
			return nil
		}
		if apply = !apply; apply {
			return fault
		}
		return nil
	}
}

// LoseResponse lets the API server commit the call and loses the response.
func LoseResponse(_ *Call, send func() (*http.Response, error)) (*http.Response, error) {
	resp, err := send()
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	return nil, errors.New("injected: the response was lost")
}

// CrashBefore kills the process before the call reaches the API server.
func (i *Injector) CrashBefore(_ *Call, _ func() (*http.Response, error)) (*http.Response, error) {
	i.Kill()
	return nil, errStopped
}

// CrashAfter kills the process after the API server has committed the call, before the response arrives.
func (i *Injector) CrashAfter(_ *Call, send func() (*http.Response, error)) (*http.Response, error) {
	resp, err := send()
	if err == nil {
		_ = resp.Body.Close()
	}
	i.Kill()
	return nil, errStopped
}

// response returns an error response that the API server did not send.
func response(req *http.Request, code int, reason metav1.StatusReason, message string) *http.Response {
	body, _ := json.Marshal(metav1.Status{ // A Status always encodes.
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	})
	return &http.Response{
		Status: fmt.Sprintf("%d %s", code, reason), StatusCode: code, Request: req,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": []string{"application/json"}},
		Body:          io.NopCloser(strings.NewReader(string(body))),
		ContentLength: int64(len(body)),
	}
}
