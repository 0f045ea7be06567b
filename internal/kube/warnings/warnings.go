// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package warnings collects the warnings in responses of the API server, such as those of Pod Security, so that they
// reach the user of an object. kubectl prints such warnings, but the user of an object does not see the requests of its
// controller.
package warnings

import (
	"context"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Collected are the warnings about the requests of one context.
type Collected struct {
	mu    sync.Mutex
	texts []string
}

type collectedKey struct{}

// Collect returns a context whose requests add their warnings to the result.
func Collect(ctx context.Context) (context.Context, *Collected) {
	c := &Collected{}
	return context.WithValue(ctx, collectedKey{}, c), c
}

// Text returns the warnings in a fixed order, each once, or "" if there are none.
func (c *Collected) Text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(c.texts))), "; ")
}

// maxLogged limits how many texts a Handler remembers.
const maxLogged = 1000

// Handler adds the warnings in responses to those of the context, and logs each text once. It is a
// rest.WarningHandlerWithContext.
type Handler struct {
	mu     sync.Mutex
	logged sets.Set[string]
}

// HandleWarningHeaderWithContext handles one warning. Only those with the code 299 are about the request.
func (h *Handler) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if code != 299 || text == "" {
		return
	}
	if c, ok := ctx.Value(collectedKey{}).(*Collected); ok {
		c.mu.Lock()
		c.texts = append(c.texts, text)
		c.mu.Unlock()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.logged.Has(text) {
		return
	}
	if h.logged == nil || len(h.logged) >= maxLogged {
		h.logged = sets.New[string]()
	}
	h.logged.Insert(text)
	log.FromContext(ctx).Info("The API server answered with a warning, which is logged only once", "warning", text)
}
