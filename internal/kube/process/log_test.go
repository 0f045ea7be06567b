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
	var log strings.Builder
	logger := zap.New(zap.WriteTo(&log), Quiet(ctx)).WithName("manager").WithValues("key", "value")
	logger.Error(errors.New("no answer"), "Before")
	cancel()
	logger.Error(errors.New("interrupted"), "After")
	logger.Info("Stopping")
	if text := log.String(); !strings.Contains(text, "Before") || strings.Contains(text, "After") || !strings.Contains(text, "Stopping") {
		t.Error(text)
	}
}
