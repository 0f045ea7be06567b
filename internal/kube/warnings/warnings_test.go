// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package warnings

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func TestHandler(t *testing.T) {
	var logged []string
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) { logged = append(logged, line) }, funcr.Options{}))
	h := &Handler{}
	first, a := Collect(ctx)
	second, b := Collect(ctx)
	for _, w := range []struct {
		ctx  context.Context
		code int
		text string
	}{
		{first, 299, "would violate PodSecurity"}, {first, 299, "an older API"}, {first, 299, "would violate PodSecurity"},
		{second, 299, "would violate PodSecurity"}, {second, 199, "other"}, {second, 299, ""}, {ctx, 299, "of no object"},
	} {
		h.HandleWarningHeaderWithContext(w.ctx, w.code, "-", w.text)
	}
	if got := a.Text() + " | " + b.Text(); got != "an older API; would violate PodSecurity | would violate PodSecurity" {
		t.Errorf("collected %q", got)
	}
	if text := strings.Join(logged, "\n"); len(logged) != 3 || strings.Count(text, "PodSecurity") != 1 {
		t.Errorf("the log is:\n%s", text)
	}
	for n := range maxLogged {
		h.HandleWarningHeaderWithContext(ctx, 299, "-", fmt.Sprint("text ", n))
	}
	if len(h.logged) > maxLogged {
		t.Errorf("%d texts are remembered", len(h.logged))
	}
}
