// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process has what an operator process needs besides its controllers: the lease, the health probes, the memory limit, the
// authorization of metrics, a limit on events, a log without errors at shutdown, and flags that can be set by environment variables.
package process

import (
	"context"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
)

// KnownLevels writes log levels as words that log stores know. zapr logs the verbosity 4 as "Level(-4)"; here it is "debug".
func KnownLevels(c *zapcore.EncoderConfig) {
	encode := c.EncodeLevel
	c.EncodeLevel = func(level zapcore.Level, out zapcore.PrimitiveArrayEncoder) {
		encode(max(level, zapcore.DebugLevel), out)
	}
}

// Quiet returns a sink that logs errors at the level debug after ctx is done. controller-runtime reports everything that a signal
// interrupts as an error: controllers whose caches are not filled yet, and the end of the leadership. If an error ends the process, the
// manager returns it.
func Quiet(ctx context.Context, sink logr.LogSink) logr.LogSink {
	return quietSink{sink, ctx}
}

// quietSink is the sink that Quiet returns.
type quietSink struct {
	logr.LogSink
	ctx context.Context
}

// Error logs an error at the level error, or debug if ctx is done.
func (s quietSink) Error(err error, message string, keysAndValues ...any) {
	const debug = 1
	switch {
	case s.ctx.Err() == nil:
		s.LogSink.Error(err, message, keysAndValues...)
	case s.Enabled(debug):
		s.Info(debug, message, append(keysAndValues, "error", err)...)
	}
}

// WithValues and WithName keep the sink quiet.
func (s quietSink) WithValues(keysAndValues ...any) logr.LogSink {
	return quietSink{s.LogSink.WithValues(keysAndValues...), s.ctx}
}

func (s quietSink) WithName(name string) logr.LogSink {
	return quietSink{s.LogSink.WithName(name), s.ctx}
}
