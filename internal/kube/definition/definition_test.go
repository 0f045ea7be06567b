// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// widget is a custom kind.
type widget struct {
	metav1.PartialObjectMetadata

	Status struct {
		Phase   string             `json:"phase,omitempty"`
		Ended   *metav1.Time       `json:"ended,omitempty"`
		Names   []string           `json:"names"`
		Details []metav1.Condition `json:"details,omitempty"`
	} `json:"status,omitzero"`
}

const (
	condition = `{"properties": {"type": {}, "status": {}, "observedGeneration": {}, "lastTransitionTime": {}, "reason": {}, "message": {}}}`
	complete  = `"phase": {"type": "string"}, "ended": {"format": "date-time"}, "names": {"items": {}}, "details": {"items": ` + condition + `}`
	statusURL = `"/apis/example.com/v1/namespaces/{namespace}/widgets/{name}/status": {}`
)

// document returns the OpenAPI document of a group with the kind Widget.
func document(paths, widget string) string {
	return `{"paths": {` + paths + `}, "components": {"schemas": {
		"com.example.v1.Widget": {"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Widget"}], ` + widget + `},
		"com.example.v1.WidgetList": {"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "WidgetList"}]}
	}}}`
}

func status(fields string) string {
	return `"properties": {"status": {"properties": {` + fields + `}}}`
}

func TestCheck(t *testing.T) {
	for title, tc := range map[string]struct {
		code     int
		document string
		want     string // what is lacking
	}{
		"it has every field":                {200, document(statusURL, status(complete+`, "newer": {}`)), ""},
		"a field":                           {200, document(statusURL, status(strings.Replace(complete, "ended", "other", 1))), "the field status.ended"},
		"a field of an element":             {200, document(statusURL, status(strings.Replace(complete, "reason", "other", 1))), "the field status.details[].reason"},
		"the whole status":                  {200, document(statusURL, `"properties": {"spec": {}}`), "the field status"},
		"everything":                        {200, document(statusURL, `"type": "object"`), "the field status"},
		"no field is dropped":               {200, document(statusURL, `"properties": {"status": {"x-kubernetes-preserve-unknown-fields": true}}`), ""},
		"no field of the object is dropped": {200, document("", `"x-kubernetes-preserve-unknown-fields": true`), ""},
		"the status is no subresource":      {200, document("", status(complete)), "the subresource status"},
		"the kind is not in the document":   {200, `{"components": {"schemas": {"io.k8s.Status": {"properties": {"status": {"type": "string"}}}}}}`, ""},
		"no JSON":                           {200, "openapi", ""},
		"no permission":                     {403, "", ""},
		"no such group":                     {404, "", ""},
	} {
		t.Run(title, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, req *http.Request) {
				if req.URL.Path != "/openapi/v3/apis/example.com/v1" {
					t.Error(req.URL)
				}
				answer.WriteHeader(tc.code)
				_, _ = answer.Write([]byte(tc.document))
			}))
			defer server.Close()
			client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			err = Check(t.Context(), client.RESTClient(), schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, &widget{})
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), "widgets.example.com is older than this manager: it lacks "+tc.want+". ") {
				t.Errorf("got %v, want that it lacks %q", err, tc.want)
			}
		})
	}
}
