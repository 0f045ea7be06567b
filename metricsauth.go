// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// permissionTTL is how long a permission is remembered, so that a scrape does not ask the API server each time.
	permissionTTL = time.Minute
	// permissionTimeout bounds how long the API server may take to answer.
	permissionTimeout = 10 * time.Second
)

// metricsAuth lets clients read the metrics that have a valid token, and whose user has the permission. It asks the API server for
// both. The filter of controller-runtime does the same, but it links k8s.io/apiserver, which makes the program 60 % larger.
type metricsAuth struct {
	tokens authenticationclient.TokenReviewInterface
	access authorizationclient.SubjectAccessReviewInterface
	clock  clock.PassiveClock

	mu sync.Mutex
	// permitted has the end of each remembered permission. Its keys are hashes, because they are made from tokens.
	permitted map[[sha256.Size]byte]time.Time
}

// newMetricsAuth returns a filter provider for the metrics server.
func newMetricsAuth(c clock.PassiveClock) func(*rest.Config, *http.Client) (metricsserver.Filter, error) {
	return func(config *rest.Config, httpClient *http.Client) (metricsserver.Filter, error) {
		tokens, err := authenticationclient.NewForConfigAndClient(config, httpClient)
		if err != nil {
			return nil, fmt.Errorf("creating a client for token reviews: %w", err)
		}
		access, err := authorizationclient.NewForConfigAndClient(config, httpClient)
		if err != nil {
			return nil, fmt.Errorf("creating a client for access reviews: %w", err)
		}
		a := &metricsAuth{
			tokens: tokens.TokenReviews(), access: access.SubjectAccessReviews(), clock: c, permitted: map[[sha256.Size]byte]time.Time{},
		}
		return a.filter, nil
	}
}

// filter passes the requests of permitted clients to next.
func (a *metricsAuth) filter(logger logr.Logger, next http.Handler) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		status, err := a.check(req)
		if err != nil {
			logger.Error(err, "The permission to read metrics cannot be checked")
		}
		if status != http.StatusOK {
			http.Error(w, http.StatusText(status), status)
			return
		}
		next.ServeHTTP(w, req)
	}), nil
}

// check returns 200, 401 without a valid token, 403 without the permission, or 500 with an error if the API server does not tell.
func (a *metricsAuth) check(req *http.Request) (int, error) {
	token := bearerToken(req)
	if token == "" {
		return http.StatusUnauthorized, nil
	}
	verb, path := strings.ToLower(req.Method), req.URL.Path
	key, now := sha256.Sum256([]byte(verb+" "+path+" "+token)), a.clock.Now()
	if a.remembers(key, now) {
		return http.StatusOK, nil
	}
	ctx, cancel := context.WithTimeout(req.Context(), permissionTimeout)
	defer cancel()
	review, err := a.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return http.StatusInternalServerError, fmt.Errorf("reviewing a token: %w", err)
	}
	if !review.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	allowed, err := a.allows(ctx, review.Status.User, verb, path)
	if err != nil {
		return http.StatusInternalServerError, err
	}
	if !allowed {
		return http.StatusForbidden, nil
	}
	a.remember(key, now)
	return http.StatusOK, nil
}

// allows asks the API server whether a user has the permission.
func (a *metricsAuth) allows(ctx context.Context, user authenticationv1.UserInfo, verb, path string) (bool, error) {
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: map[string]authorizationv1.ExtraValue{},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: verb, Path: path},
	}
	for name, values := range user.Extra {
		spec.Extra[name] = authorizationv1.ExtraValue(values)
	}
	review, err := a.access.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("reviewing the access of %s: %w", user.Username, err)
	}
	return review.Status.Allowed && !review.Status.Denied, nil
}

func (a *metricsAuth) remembers(key [sha256.Size]byte, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return now.Before(a.permitted[key])
}

// remember notes a permission and forgets those that have ended.
func (a *metricsAuth) remember(key [sha256.Size]byte, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.permitted, func(_ [sha256.Size]byte, end time.Time) bool { return !now.Before(end) })
	a.permitted[key] = now.Add(permissionTTL)
}

// bearerToken returns the token of a request, or "" if it has none.
func bearerToken(req *http.Request) string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(req.Header.Get("Authorization")), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
