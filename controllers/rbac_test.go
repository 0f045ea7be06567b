// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"

	"github.com/redhat/podset-operator/test/apiserver"
)

// verbsUsed records the permissions that the operator used during the tests, as "verb group/resource", and its
// requests.
type verbsUsed struct {
	mu       sync.Mutex
	verbs    sets.Set[string]
	lax      sets.Set[string] // permissions of writes whose unknown fields the API server drops
	requests []request
}

type request struct{ verb, path string }

// in returns the permissions used by the requests in a namespace, in order: only the given ones, such as "create
// /pods", or all.
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

// writesIn counts the writes in a namespace: only those with the given permissions, or all.
func (v *verbsUsed) writesIn(namespace string, verbs ...string) int {
	return len(slices.DeleteFunc(v.in(namespace, verbs...), func(verb string) bool {
		return strings.HasPrefix(verb, "get ") || strings.HasPrefix(verb, "list ") || strings.HasPrefix(verb, "watch ")
	}))
}

// record returns a copy of config whose requests are recorded.
func (v *verbsUsed) record(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			verb, err := permissionOf(req)
			if err != nil {
				return nil, err
			}
			if verb != "" {
				v.mu.Lock()
				if v.verbs == nil {
					v.verbs, v.lax = sets.New[string](), sets.New[string]()
				}
				v.verbs.Insert(verb)
				if isLax(req) {
					v.lax.Insert(verb)
				}
				if req.URL.Query().Get("dryRun") != "" {
					verb = strings.Replace(verb, "create ", "check ", 1)
				}
				v.requests = append(v.requests, request{verb: verb, path: req.URL.Path})
				v.mu.Unlock()
			}
			return next.RoundTrip(req)
		})
	})
	return config
}

// isLax reports whether a request is a write whose unknown fields the API server drops.
func isLax(req *http.Request) bool {
	switch req.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return req.URL.Query().Get("fieldValidation") != metav1.FieldValidationStrict
	}
	return false
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// requestInfos parses requests as kube-apiserver does.
var requestInfos = apirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// permissionOf returns the permission that a request needs, or "" for discovery, which needs none.
func permissionOf(req *http.Request) (string, error) {
	info, err := requestInfos.NewRequestInfo(req)
	if err != nil || !info.IsResourceRequest {
		return "", err
	}
	resource := path.Join(info.Resource, info.Subresource)
	return fmt.Sprintf("%s %s/%s", info.Verb, info.APIGroup, resource), nil
}

// compareWithRole returns an error if the permissions that were used differ from those that config/rbac/role.yaml
// grants.
func (v *verbsUsed) compareWithRole() error {
	role, err := apiserver.ManagerRole("..")
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
	// The operator sends no such requests. The admission plugin OwnerReferencesPermissionEnforcement requires the
	// permission to create a pod with blockOwnerDeletion.
	granted.Delete("update app.example.com/podsets/finalizers", "update cnat.d2iq.com/ats/finalizers")
	// The cache lists and watches. Roles usually grant get together with list, and get reveals nothing more.
	granted.Delete("get app.example.com/podsets")
	v.mu.Lock()
	defer v.mu.Unlock()
	// An event that lacks a field is better than no event.
	if lax := v.lax.Difference(sets.New("create events.k8s.io/events", "patch events.k8s.io/events")); lax.Len() > 0 {
		return fmt.Errorf("writes whose unknown fields the API server drops: %s", strings.Join(slices.Sorted(slices.Values(lax.UnsortedList())), ", "))
	}
	if unused := granted.Difference(v.verbs); unused.Len() > 0 {
		return fmt.Errorf("config/rbac/role.yaml grants permissions that no test used: %s", strings.Join(slices.Sorted(slices.Values(unused.UnsortedList())), ", "))
	}
	if ungranted := v.verbs.Difference(granted); ungranted.Len() > 0 {
		return fmt.Errorf("the operator used permissions that config/rbac/role.yaml does not grant: %s", strings.Join(slices.Sorted(slices.Values(ungranted.UnsortedList())), ", "))
	}
	return nil
}
