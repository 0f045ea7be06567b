// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault answers a call in place of the API server; send passes the call on and returns the API server's answer.
type Fault func(call *Call, send func() (*http.Response, error)) (*http.Response, error)

// Rule finds the fault for a call; nil lets it pass. A injector asks its rules for one call at a time.
type Rule func(*Call) Fault

func pass(_ *Call, send func() (*http.Response, error)) (*http.Response, error) { return send() }

// Each gives every call that matches the same fault.
func Each(match Match, fault Fault) Rule {
	return func(c *Call) Fault {
		if !match(c) {
			return nil
		}
		return fault
	}
}

// Nth gives the n-th call that matches, counted from 1, a fault.
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

// First gives the first n calls that match a fault.
func First(n int, match Match, fault Fault) Rule {
	return func(c *Call) Fault {
		if n == 0 || !match(c) {
			return nil
		}
		n--
		return fault
	}
}

// Sometimes gives calls that match one of several faults, with a probability in percent, drawn from a seeded source.
func Sometimes(random *rand.Rand, percent int, match Match, faults ...Fault) Rule {
	return func(c *Call) Fault {
		if !match(c) || random.IntN(100) >= percent {
			return nil
		}
		return faults[random.IntN(len(faults))]
	}
}

// Reject answers with a code and a reason; the call never reaches the API server.
func Reject(code int, reason metav1.StatusReason) Fault {
	return func(_ *Call, _ func() (*http.Response, error)) (*http.Response, error) {
		return response(nil, code, reason, "injected: "+string(reason)), nil
	}
}

// TooManyRequests is 429 with Retry-After, as priority and fairness sends it.
func TooManyRequests(after time.Duration) Fault {
	return func(_ *Call, _ func() (*http.Response, error)) (*http.Response, error) {
		resp := response(nil, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "injected: too many requests")
		resp.Header.Set("Retry-After", strconv.Itoa(int(after.Seconds())))
		return resp, nil
	}
}

// Reset breaks the connection before the call reaches the API server.
func Reset(_ *Call, _ func() (*http.Response, error)) (*http.Response, error) {
	return nil, syscall.ECONNRESET
}

// LoseResponse lets the API server commit the call and loses its answer.
func LoseResponse(_ *Call, send func() (*http.Response, error)) (*http.Response, error) {
	resp, err := send()
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	return nil, errors.New("injected: the answer was lost")
}

// LoseResponseAfter lets the API server commit the call and loses its response, which the caller learns after a while.
func LoseResponseAfter(d time.Duration) Fault {
	return func(c *Call, send func() (*http.Response, error)) (*http.Response, error) {
		resp, err := LoseResponse(c, send)
		<-time.After(d)
		return resp, err
	}
}

// Delay passes the call on after a while; several calls overtake each other.
func Delay(d time.Duration) Fault {
	return func(_ *Call, send func() (*http.Response, error)) (*http.Response, error) {
		<-time.After(d)
		return send()
	}
}

// Timeout keeps the caller waiting, then gives up: the call never reaches the API server.
func Timeout(d time.Duration) Fault {
	return func(c *Call, _ func() (*http.Response, error)) (*http.Response, error) {
		<-time.After(d)
		return nil, fmt.Errorf("injected: %s timed out", c)
	}
}

// Block keeps calls waiting until the returned function lets them pass. started is closed when the first one waits.
func Block() (fault Fault, started <-chan struct{}, unblock func()) {
	begun, end := make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	return func(_ *Call, send func() (*http.Response, error)) (*http.Response, error) {
		begin()
		<-end
		return send()
	}, begun, sync.OnceFunc(func() { close(end) })
}

// CrashBefore ends the process of a injector before the call reaches the API server.
func (i *Injector) CrashBefore(_ *Call, _ func() (*http.Response, error)) (*http.Response, error) {
	i.Kill()
	return nil, errStopped
}

// CrashAfter ends the process of a injector after the API server has committed the call, before its answer arrives.
func (i *Injector) CrashAfter(_ *Call, send func() (*http.Response, error)) (*http.Response, error) {
	resp, err := send()
	if err == nil {
		_ = resp.Body.Close()
	}
	i.Kill()
	return nil, errStopped
}

// answer is an answer of the API server that it never gave.
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

// Rewrite changes what a call sends: a defect that the operator does not know of.
func Rewrite(change func([]byte) []byte) Fault {
	return func(c *Call, send func() (*http.Response, error)) (*http.Response, error) {
		c.Body = change(c.Body)
		return send()
	}
}
