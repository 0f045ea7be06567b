// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"encoding/json"
	"fmt"
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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// TestEventsWaitForEachOther uses a server that answers requests about events only when the test allows it.
func TestEventsWaitForEachOther(t *testing.T) {
	const events = 3 * maxEventRequests
	arrived, answer := make(chan eventsv1.Event, events), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/events") {
			var event eventsv1.Event
			if err := json.NewDecoder(req.Body).Decode(&event); err != nil {
				t.Error(err)
			}
			arrived <- event
			<-answer
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"Pod","apiVersion":"v1"}`))
	}))
	defer server.Close()
	answerAll := sync.OnceFunc(func() { close(answer) })
	defer answerAll() // Close waits for all answers.

	g := NewWithT(t)
	config := &rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme.Scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	g.Expect(err).NotTo(HaveOccurred())
	newRecorder, err := LimitEvents(t.Context(), mgr)
	g.Expect(err).NotTo(HaveOccurred())

	recorder := newRecorder("at-controller")
	pod := func(i int) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("pod-", i)}}
	}
	for i := range events {
		recorder.Eventf(pod(i), nil, corev1.EventTypeNormal, "Reason", "Action", "note")
	}
	g.Eventually(arrived).Should(HaveLen(maxEventRequests))
	g.Consistently(arrived).Should(HaveLen(maxEventRequests))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err = kubernetes.NewForConfigOrDie(config).CoreV1().Pods("default").Create(ctx, pod(0), metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred(), "a pod while events wait")
	answerAll()
	g.Eventually(arrived).Should(HaveLen(events))
	g.Expect((<-arrived).ReportingController).To(Equal("at-controller"))
}
