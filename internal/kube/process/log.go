// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process has what an operator process needs besides its controllers: the lease, the health probes, the memory
// limit, the authorization of metrics, a limit on events, a log without errors at shutdown, and flags that can be set
// by environment variables.
package process

import (
	"context"
	"log"
	"strings"

	"github.com/go-logr/logr"
	uberzap "go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// KnownLevels writes log levels as words that log stores know. zapr logs the verbosity 4 as "Level(-4)"; here it is
// "debug".
func KnownLevels(c *zapcore.EncoderConfig) {
	encode := c.EncodeLevel
	c.EncodeLevel = func(level zapcore.Level, out zapcore.PrimitiveArrayEncoder) {
		encode(max(level, zapcore.DebugLevel), out)
	}
}

// Quiet makes a logger drop errors after ctx is done. controller-runtime reports everything that a signal interrupts as
// an error: controllers whose caches are not filled yet, and the end of the leadership. If an error ends the process,
// the manager returns it.
func Quiet(ctx context.Context) zap.Opts {
	return zap.RawZapOpts(uberzap.WrapCore(func(core zapcore.Core) zapcore.Core { return quietCore{core, ctx} }))
}

type quietCore struct {
	zapcore.Core
	ctx context.Context
}

// With keeps the core quiet. It encodes the fields only when they are written: each reconcile has a logger with fields,
// and most of them log nothing.
func (c quietCore) With(fields []zapcore.Field) zapcore.Core {
	return quietCore{zapcore.NewLazyWith(c.Core, fields), c.ctx}
}

// Check drops errors after ctx is done.
func (c quietCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if entry.Level == zapcore.ErrorLevel && c.ctx.Err() != nil {
		return checked
	}
	return c.Core.Check(entry, checked)
}

// CaptureLogs makes klog and Go's standard logger, which servers of net/http use, write to logger. Otherwise the log
// would have lines of other formats.
func CaptureLogs(logger logr.Logger) {
	klog.SetLogger(logger)
	log.SetFlags(0)
	log.SetOutput(lines{logger})
}

// lines logs each write as one line.
type lines struct{ logr.Logger }

func (l lines) Write(text []byte) (int, error) {
	message := strings.TrimSpace(string(text))
	verbosity := 0
	if strings.HasPrefix(message, "http: TLS handshake error") { // Each connection of any pod without TLS causes one.
		verbosity = 1
	}
	l.V(verbosity).Info(message)
	return len(text), nil
}
