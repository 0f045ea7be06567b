// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

const (
	// permissionTTL is how long a permission is remembered, so that a scrape does not ask the API server each time. denialTTL is how long
	// a denial is remembered. A permission that was just granted counts after that.
	permissionTTL, denialTTL = time.Minute, 10 * time.Second
	// permissionTimeout bounds how long the API server may take to answer.
	permissionTimeout = 10 * time.Second

	// Every pod of the cluster can send requests. These bounds leave the API server and the memory to the controllers.
	maxToken      = 8 << 10 // bytes; tokens of service accounts have 1 KiB
	maxReviews    = 8       // at the same time
	reviewsPerSec = 100     // in a burst, as many at once
)

// metricsAuth lets clients read the metrics that have a valid token, and whose user has the permission. It asks the API server for
// both. The filter of controller-runtime does this too, but it links k8s.io/apiserver, which makes the program 60 % larger.
type metricsAuth struct {
	tokens authenticationclient.TokenReviewInterface
	access authorizationclient.SubjectAccessReviewInterface
	// reviews has a value for each review that is under way.
	reviews chan struct{}
	limiter *rate.Limiter
	// logs limits the errors in the log.
	logs rate.Sometimes
	// answers are the status codes that are remembered, not more than reviewsPerSec allows. The keys are hashes, because they are made
	// from tokens.
	answers *cache.Expiring
}

func newMetricsAuth(c clock.Clock, config *rest.Config, httpClient *http.Client) (*metricsAuth, error) {
	tokens, err := authenticationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("creating a client for token reviews: %w", err)
	}
	access, err := authorizationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("creating a client for access reviews: %w", err)
	}
	return &metricsAuth{
		tokens: tokens.TokenReviews(), access: access.SubjectAccessReviews(), answers: cache.NewExpiringWithClock(c),
		reviews: make(chan struct{}, maxReviews), limiter: rate.NewLimiter(reviewsPerSec, reviewsPerSec), logs: rate.Sometimes{Interval: time.Minute},
	}, nil
}

// protect returns a handler that passes the requests of permitted clients to next. The connection of any other client is closed, so that
// it does not keep out one that waits for a connection.
func (a *metricsAuth) protect(logger logr.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		status, err := a.check(req)
		if err != nil && req.Context().Err() == nil {
			a.logs.Do(func() {
				logger.Error(err, "The permission to read metrics cannot be checked. This is logged once a minute")
			})
		}
		if status != http.StatusOK {
			w.Header().Set("Connection", "close")
			http.Error(w, http.StatusText(status), status)
			return
		}
		next.ServeHTTP(w, req)
	})
}

// check returns 200, 401 without a valid token, 403 without the permission, 503 if too many reviews are under way, or 500 with an error if
// the API server does not answer.
func (a *metricsAuth) check(req *http.Request) (int, error) {
	token := bearerToken(req)
	if token == "" || len(token) > maxToken {
		return http.StatusUnauthorized, nil
	}
	verb, path := strings.ToLower(req.Method), req.URL.Path
	key := sha256.Sum256([]byte(verb + " " + path + " " + token))
	if status, ok := a.answers.Get(key); ok {
		return status.(int), nil
	}
	ctx, cancel := context.WithTimeout(req.Context(), permissionTimeout)
	defer cancel()
	select {
	case a.reviews <- struct{}{}:
		defer func() { <-a.reviews }()
	case <-ctx.Done():
		return http.StatusServiceUnavailable, nil
	}
	if status, ok := a.answers.Get(key); ok { // meanwhile
		return status.(int), nil
	}
	if a.limiter.Wait(ctx) != nil {
		return http.StatusServiceUnavailable, nil
	}
	status, err := a.review(ctx, token, verb, path)
	if err != nil {
		return status, err
	}
	ttl := denialTTL
	if status == http.StatusOK {
		ttl = permissionTTL
	}
	a.answers.Set(key, status, ttl)
	return status, nil
}

// review asks the API server what check returns.
func (a *metricsAuth) review(ctx context.Context, token, verb, path string) (int, error) {
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

// bearerToken returns the token of a request, or "" if it has none.
func bearerToken(req *http.Request) string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(req.Header.Get("Authorization")), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
