// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
)

// verbsUsed are the rights that the operator made use of while the tests ran, as "verb group/resource", and its requests.
type verbsUsed struct {
	mu       sync.Mutex
	verbs    sets.Set[string]
	requests []request
}

type request struct{ verb, path string }

// in gives the verbs of the requests in a namespace, in their order: those of some verbs, such as "create /pods", or all.
func (v *verbsUsed) in(namespace string, verbs ...string) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var found []string
	for _, r := range v.requests {
		if strings.Contains(r.path, "/namespaces/"+namespace+"/") && (len(verbs) == 0 || slices.Contains(verbs, r.verb)) {
			found = append(found, r.verb)
		}
	}
	return found
}

// writesIn counts the writes in a namespace: those of some verbs, or all.
func (v *verbsUsed) writesIn(namespace string, verbs ...string) int {
	return len(slices.DeleteFunc(v.in(namespace, verbs...), func(verb string) bool {
		return strings.HasPrefix(verb, "get ") || strings.HasPrefix(verb, "list ") || strings.HasPrefix(verb, "watch ")
	}))
}

// record makes a copy of config whose requests are recorded.
func (v *verbsUsed) record(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if verb := verbOf(req); verb != "" {
				v.mu.Lock()
				if v.verbs == nil {
					v.verbs = sets.New[string]()
				}
				v.verbs.Insert(verb)
				v.requests = append(v.requests, request{verb: verb, path: req.URL.Path})
				v.mu.Unlock()
			}
			return next.RoundTrip(req)
		})
	})
	return config
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// verbOf is the right that a request needs, "" for discovery, which needs none.
func verbOf(req *http.Request) string {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		return ""
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	resource, named := parts[0], len(parts) > 1
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	verb := map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}[req.Method]
	if req.Method == http.MethodGet {
		switch {
		case req.URL.Query().Get("watch") != "":
			verb = "watch"
		case named:
			verb = "get"
		default:
			verb = "list"
		}
	}
	return fmt.Sprintf("%s %s/%s", verb, group, resource)
}

// compareWithRole tells where the rights that were used and those of config/rbac/role.yaml differ. That nothing is used
// without being granted is clear already: the API server would have refused it.
func (v *verbsUsed) compareWithRole() error {
	role, err := managerRole()
	if err != nil {
		return err
	}
	granted := sets.New[string]()
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					granted.Insert(fmt.Sprintf("%s %s/%s", verb, group, resource))
				}
			}
		}
	}
	// These are no requests: the admission plugin OwnerReferencesPermissionEnforcement asks for them when a pod with
	// blockOwnerDeletion is created.
	granted.Delete("update app.example.com/podsets/finalizers", "update cnat.d2iq.com/ats/finalizers")
	// The cache lists and watches. That who may list may get one by its name is custom, and gives away nothing more.
	granted.Delete("get app.example.com/podsets", "get cnat.d2iq.com/ats")
	v.mu.Lock()
	defer v.mu.Unlock()
	if unused := granted.Difference(v.verbs); unused.Len() > 0 {
		return fmt.Errorf("config/rbac/role.yaml grants what the tests saw nobody use: %s", strings.Join(slices.Sorted(slices.Values(unused.UnsortedList())), ", "))
	}
	if ungranted := v.verbs.Difference(granted); ungranted.Len() > 0 {
		return fmt.Errorf("the operator asked for what config/rbac/role.yaml does not grant: %s", strings.Join(slices.Sorted(slices.Values(ungranted.UnsortedList())), ", "))
	}
	return nil
}
