// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// rejecting is a sink that rejects the events of a namespace that is being deleted.
type rejecting struct{ events.EventSink }

func (rejecting) Create(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	err := apierrors.NewForbidden(corev1.Resource("events"), event.Name, errors.New("terminating"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return nil, err
}

func TestLimitedSink_terminating(t *testing.T) {
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, line string) { t.Error("logged: ", line) }, funcr.Options{}))
	sink := &limitedSink{EventSink: rejecting{}, inFlight: make(chan struct{}, 1)}
	if _, err := sink.Create(ctx, &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}); err != nil {
		t.Error("the caller logs the event: ", err)
	}
}

// TestLimitedSink uses a server that answers requests about events only when the test allows it.
func TestLimitedSink(t *testing.T) {
	const count = 3 * maxEventRequests
	arrived, answer := make(chan eventsv1.Event, count), make(chan struct{})
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
	for i := range count {
		recorder.Eventf(pod(i), nil, corev1.EventTypeNormal, "Reason", "Action", "note")
	}
	g.Eventually(arrived).Should(HaveLen(maxEventRequests))
	g.Consistently(arrived).Should(HaveLen(maxEventRequests))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err = kubernetes.NewForConfigOrDie(config).CoreV1().Pods("default").Create(ctx, pod(0), metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred(), "a pod while events wait")
	answerAll()
	g.Eventually(arrived).Should(HaveLen(count))
	g.Expect((<-arrived).ReportingController).To(Equal("at-controller"))
}
