// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"k8s.io/kubectl/pkg/util/term"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// screen is a terminal on which a table is drawn again and again.
type screen struct {
	out     io.Writer
	columns columns
	header  bool
}

// isScreen reports whether an output is a terminal that can be cleared.
func isScreen(out io.Writer) bool {
	name := os.Getenv("TERM")
	return term.TTY{Out: out}.IsTerminalOut() && name != "dumb" && (name != "" || runtime.GOOS == "windows")
}

// sizeOf returns the columns and lines of a terminal, or zeros if it is none or does not know its size.
func sizeOf(out io.Writer) (width, height int) {
	size := term.TTY{Out: out}.GetSize()
	if size == nil {
		return 0, 0
	}
	return int(size.Width), int(size.Height)
}

// draw prints the table in place of what the terminal shows. It has less lines than the terminal, so that nothing scrolls away.
func (s *screen) draw(ats []cnatv1alpha1.At, now time.Time) error {
	width, height := sizeOf(s.out)
	shown, header := fit(ats, height, s.header)
	lines := s.columns.lines(shown, now, header, width)
	if hidden := len(ats) - len(shown); hidden > 0 && height > 3 {
		lines = append(lines, cut(fmt.Sprintf("... and %d more", hidden), width))
	}
	// To the upper left corner, and clear from there.
	_, err := io.WriteString(s.out, "\x1b[H\x1b[J"+strings.Join(lines, "\n")+"\n")
	return err
}

// fit returns the Ats that a terminal of a height has lines for, with those that are not done before those that are, and whether there is
// a line for the header. One line is for the cursor, and one for the number of the others.
func fit(ats []cnatv1alpha1.At, height int, wantsHeader bool) (shown []cnatv1alpha1.At, header bool) {
	header = wantsHeader && (height == 0 || height > 2)
	lines := height - 1
	if header {
		lines--
	}
	if height == 0 || len(ats) <= lines {
		return ats, header
	}
	if height > 3 {
		lines--
	}
	lines = max(lines, 1)
	next := slices.IndexFunc(ats, func(a cnatv1alpha1.At) bool { return !isDone(&a) })
	if next < 0 {
		next = len(ats)
	}
	first := min(next, len(ats)-lines)
	return ats[first : first+lines], header
}
