// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	stdlog "log"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
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

// The loggers of reconciles have fields, and most of them log nothing.
func TestQuiet_fields(t *testing.T) {
	var log strings.Builder
	encoded := 0
	field := zapcore.ObjectMarshalerFunc(func(zapcore.ObjectEncoder) error { encoded++; return nil })
	logger := zap.New(zap.WriteTo(&log), Quiet(t.Context())).WithValues("first", field).WithValues("second", field)
	logger.V(1).Info("Detail")
	if encoded != 0 {
		t.Errorf("%d fields are encoded for nothing", encoded)
	}
	logger.Info("Done")
	logger.Info("Done")
	if text := log.String(); encoded != 2 || strings.Count(text, `"first":{},"second":{}`) != 2 {
		t.Errorf("%d fields are encoded:\n%s", encoded, text)
	}
}

// TestCaptureLogs logs in a process of its own: klog's logger must be set before anything logs, and other tests leave
// goroutines that log.
func TestCaptureLogs(t *testing.T) {
	const child = "TEST_CAPTURE_LOGS"
	if os.Getenv(child) != "" {
		CaptureLogs(zap.New(zap.WriteTo(os.Stdout), zap.Level(zapcore.DebugLevel)))
		stdlog.Printf("http: TLS handshake error from %s: EOF", "10.0.0.1:1234")
		stdlog.Print("http: Accept error: too many open files\nretrying")
		klog.Error("no answer") //nolint:logcheck // A library may.
		os.Exit(0)
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCaptureLogs$")
	command.Env = append(os.Environ(), child+"=1")
	log, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range bytes.Lines(log) {
		var entry struct{ Level, Msg string }
		if err := json.Unmarshal(line, &entry); err != nil {
			t.Fatal(err)
		}
		got = append(got, entry.Level+": "+entry.Msg)
	}
	want := []string{
		"debug: http: TLS handshake error from 10.0.0.1:1234: EOF", "info: http: Accept error: too many open files\nretrying", "error: no answer",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the log is %q, want %q", got, want)
	}
}
