// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"
)

// counted are the resources whose requests are counted. What the API server does for itself (leases, flow schemas) is not.
var counted = []string{"pods", "events", "podsets", "ats", "replicasets", "cronjobs", "jobs"}

// ledger counts the harness's own requests, which are taken off those that the API server has seen.
type ledger struct {
	mu       sync.Mutex
	requests map[string]float64
}

func newLedger() *ledger { return &ledger{requests: map[string]float64{}} }

// record counts the requests of a client.
func (l *ledger) record(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if verb, resource := describe(req); verb != "" {
			l.mu.Lock()
			l.requests[verb+" "+resource]++
			l.mu.Unlock()
		}
		return next.RoundTrip(req)
	})
}

func (l *ledger) snapshot() map[string]float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.requests)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// describe names a request as the API server's metrics do, "" for one that is not counted.
func describe(req *http.Request) (verb, resource string) {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	i := slices.IndexFunc(parts, func(part string) bool { return slices.Contains(counted, part) })
	if i < 0 {
		return "", ""
	}
	resource, verb = parts[i], req.Method
	if len(parts) > i+2 {
		resource += "/" + parts[i+2]
	}
	switch {
	case req.Method == http.MethodGet && req.URL.Query().Get("watch") != "":
		verb = "WATCH"
	case req.Method == http.MethodGet && len(parts) == i+1:
		verb = "LIST"
	}
	return verb, resource
}

// requests are those of the arm since the cluster started, by verb and resource.
func (c *cluster) requests(ctx context.Context) (map[string]float64, error) {
	httpClient, err := rest.HTTPClientFor(c.config)
	if err != nil {
		return nil, err
	}
	families, err := scrape(ctx, httpClient, strings.TrimSuffix(c.config.Host, "/")+"/metrics", "")
	if err != nil {
		return nil, err
	}
	result := map[string]float64{}
	for _, metric := range families["apiserver_request_total"].GetMetric() {
		label := labels(metric)
		if !slices.Contains(counted, label["resource"]) {
			continue
		}
		key := label["verb"] + " " + label["resource"]
		if label["subresource"] != "" {
			key += "/" + label["subresource"]
		}
		result[key] += metric.GetCounter().GetValue()
	}
	// A list that is streamed is a watch to the metric above.
	for _, metric := range families["apiserver_watch_list_duration_seconds"].GetMetric() {
		if resource := labels(metric)["resource"]; slices.Contains(counted, resource) {
			result["LIST "+resource] += float64(metric.GetHistogram().GetSampleCount())
		}
	}
	for key, n := range c.own.snapshot() {
		result[key] -= n
	}
	return result, nil
}

// cost is what an arm asked of the API server, and of itself.
type cost struct {
	// writes are all writes, those of events among them. lists are also those that are streamed. watches are those that have ended.
	writes, events, lists, watches float64
	reconciles                     float64
	// calls are all calls, in an audited cluster.
	calls []call
}

// plus adds what was asked later.
func (c cost) plus(later cost) cost {
	return cost{
		writes: c.writes + later.writes, events: c.events + later.events, lists: c.lists + later.lists, watches: c.watches + later.watches,
		reconciles: c.reconciles + later.reconciles, calls: slices.Concat(c.calls, later.calls),
	}
}

// since is what was asked of the API server after a snapshot.
func (c *cluster) since(ctx context.Context, before map[string]float64) (cost, error) {
	var total cost
	after, err := c.requests(ctx)
	for key, n := range after {
		n -= before[key]
		switch verb, resource, _ := strings.Cut(key, " "); verb {
		case "POST", "PUT", "PATCH", "APPLY", "DELETE":
			total.writes += n
			if resource == "events" {
				total.events += n
			}
		case "LIST":
			total.lists += n
		case "WATCH":
			total.watches += n
		}
	}
	return total, err
}

func labels(metric *dto.Metric) map[string]string {
	result := map[string]string{}
	for _, pair := range metric.GetLabel() {
		result[pair.GetName()] = pair.GetValue()
	}
	return result
}

// scrape reads metrics.
func scrape(ctx context.Context, c *http.Client, url, token string) (map[string]*dto.MetricFamily, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	body, err := fetch(c, req)
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(bytes.NewReader(body))
}

// fetch sends a request and returns the body of its answer. An answer that is not OK is an error, which quotes the body.
func fetch(c *http.Client, req *http.Request) ([]byte, error) {
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %s", req.URL, resp.Status, body)
	}
	return body, nil
}
