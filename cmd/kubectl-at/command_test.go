// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"

	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/script"
)

func TestReadText(t *testing.T) {
	for name, test := range map[string]struct{ script, want string }{
		"text":          {"echo 'grüße'\n", ""},
		"binary":        {"\x7fELF\x00\x01", "invalid script in x: expected text in UTF-8"},
		"Latin-1":       {"echo gr\xfc\xdfe", "invalid script in x: expected text in UTF-8"},
		"NUL":           {"echo \x00", "invalid script in x: expected text in UTF-8"},
		"the longest":   {strings.Repeat("世", 32768), ""},
		"too long":      {strings.Repeat("a", 32769), script.ErrTooLong.Error()},
		"much too long": {strings.Repeat("世", 100000), script.ErrTooLong.Error()},
	} {
		reader := &countingReader{from: strings.NewReader(test.script)}
		script, err := readText(reader, "x")
		switch {
		case test.want == "" && (err != nil || script != test.script), test.want != "" && (err == nil || err.Error() != test.want):
			t.Errorf("%s: got %d bytes, %v, want %s", name, len(script), err, test.want)
		case reader.read > 4*32768+1:
			t.Errorf("%s: %d bytes were read", name, reader.read)
		}
	}
}

type countingReader struct {
	from io.Reader
	read int
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.read += n
	return n, err
}
