// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// Log stores know the words, but not "Level(-4)".
func TestKnownLevels(t *testing.T) {
	var log strings.Builder
	logger := zap.New(zap.WriteTo(&log), zap.Level(zapcore.Level(-4)), func(o *zap.Options) {
		o.EncoderConfigOptions = []zap.EncoderConfigOption{KnownLevels}
	})
	for _, verbosity := range []int{0, 1, 4} {
		logger.V(verbosity).Info("message")
	}
	logger.Error(nil, "message")
	var levels []string
	for line := range strings.Lines(log.String()) {
		var entry struct{ Level string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		levels = append(levels, entry.Level)
	}
	if want := []string{"info", "debug", "debug", "error"}; !slices.Equal(levels, want) {
		t.Errorf("the levels are %q, want %q", levels, want)
	}
}

func TestQuiet(t *testing.T) {
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
