// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package warning gives the warnings of the API server to the caller of the request, and logs each text once.
package warning

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// maxTexts bounds how many texts are remembered, because a text can contain the name of an object.
const maxTexts = 1000

// warningCode is the code of all warnings of the API server: https://www.rfc-editor.org/rfc/rfc7234#section-5.5
const warningCode = 299

// Handler is the warning handler of a rest.Config. The zero value is ready to use.
type Handler struct {
	mu     sync.Mutex
	logged sets.Set[string]
}

type key struct{}

// Collect returns a context with which warnings are added to texts instead of the log. texts must not be read before the request has ended.
func Collect(ctx context.Context, texts *[]string) context.Context {
	return context.WithValue(ctx, key{}, texts)
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (h *Handler) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if code != warningCode || text == "" {
		return
	}
	if texts, ok := ctx.Value(key{}).(*[]string); ok {
		*texts = append(*texts, text)
		return
	}
	h.mu.Lock()
	first := !h.logged.Has(text)
	if first && h.logged.Len() < maxTexts {
		if h.logged == nil {
			h.logged = sets.New[string]()
		}
		h.logged.Insert(text)
	}
	h.mu.Unlock()
	if first {
		log.FromContext(ctx).Info("The API server warned", "warning", text)
	}
}
