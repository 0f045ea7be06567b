// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

func TestErrorsAreLoggedUntilTheSignal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var log string
	printer := func(verbosity int) logr.Logger {
		printer := funcr.New(func(_, line string) { log += line + "\n" }, funcr.Options{Verbosity: verbosity})
		return logr.New(Quiet(ctx, printer.GetSink())).WithName("manager").WithValues("key", "value")
	}
	info, debug := printer(0), printer(1)
	info.Error(errors.New("no answer"), "Before")
	cancel()
	info.Error(errors.New("interrupted"), "After")
	info.Info("Stopping")
	if !strings.Contains(log, "Before") || strings.Contains(log, "After") || !strings.Contains(log, "Stopping") {
		t.Error(log)
	}
	debug.Error(errors.New("interrupted"), "After")
	if !strings.Contains(log, `"level"=1 "msg"="After" "key"="value" "error"="interrupted"`) {
		t.Error(log)
	}
}
