// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
)

// TestRequestsAboutEventsWaitForEachOther uses a server that answers requests about events only when the test allows it.
func TestRequestsAboutEventsWaitForEachOther(t *testing.T) {
	arrived, answer := make(chan struct{}, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/events") {
			arrived <- struct{}{}
			<-answer
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	answerAll := sync.OnceFunc(func() { close(answer) })
	defer answerAll() // Close waits for all answers.
	config := &rest.Config{Host: server.URL, QPS: -1}
	config.Wrap(limitEvents)
	clients := kubernetes.NewForConfigOrDie(config)

	sink := &events.EventSinkImpl{Interface: clients.EventsV1()}
	var sent sync.WaitGroup
	for range 3 * maxEventRequests {
		sent.Go(func() {
			event := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
			if _, err := sink.Create(t.Context(), event); err != nil {
				t.Error(err)
			}
		})
	}
	g := NewWithT(t)
	g.Eventually(arrived).Should(HaveLen(maxEventRequests))
	g.Consistently(arrived).Should(HaveLen(maxEventRequests))
	if _, err := clients.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{}, metav1.CreateOptions{}); err != nil {
		t.Errorf("a pod while events wait: %v", err)
	}
	ended, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := sink.Create(ended, &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an event whose context ends: %v", err)
	}
	answerAll()
	sent.Wait()
	if len(arrived) != 3*maxEventRequests {
		t.Errorf("%d requests about events arrived", len(arrived))
	}
}
