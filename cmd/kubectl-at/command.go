// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/script"
)

// command returns spec.command: the words after --, or a script. It is "" where neither is given and the container of
// --from or the image of --image has a program to run.
func (o *createOptions) command(in io.Reader, words []string) (string, []string, error) {
	if len(words) > 0 {
		if o.file != "" {
			return "", nil, errors.New("--file cannot be combined with a command after --")
		}
		if words[0] == "" {
			return "", nil, errors.New("invalid command: the first word must not be empty")
		}
		command, err := script.Quote(words)
		return command, script.WordWarnings(words), err
	}
	if o.repeats { // An At is repeated with its command.
		return "", nil, nil
	}
	text, given, err := readScript(o.file, in)
	switch {
	case err != nil:
		return "", nil, err
	case strings.TrimSpace(text) != "":
		warnings := script.Warnings(text)
		if warning := script.SignalWarning(text); o.limits.deadline > 0 && warning != "" {
			warnings = append(warnings, warning)
		}
		command, err := script.Quote([]string{"sh", "-c", strings.TrimRight(text, "\n")}) // Lists would show the last line end as \n.
		return command, warnings, err
	case o.file != "":
		return "", nil, fmt.Errorf("invalid --file %q: must not be empty", o.file)
	case o.pod.isSet() && given:
		return "", nil, errors.New("invalid script in standard input: must not be empty; for the program of the container, use </dev/null")
	case o.pod.isSet():
		return "", nil, nil
	}
	return "", nil, errors.New("missing COMMAND: put it after --, pipe a script into standard input, or name a file with --file")
}

// readScript returns the script of a file or, with the path "" or -, of standard input, and whether there is one.
func readScript(path string, in io.Reader) (text string, given bool, err error) {
	name := "standard input"
	switch {
	case path == "" && !isPiped(in):
		return "", false, nil
	case path != "" && path != "-":
		file, err := os.Open(path)
		if err != nil {
			return "", false, fmt.Errorf("reading the script: %w", err)
		}
		defer func() { _ = file.Close() }()
		in, name = file, path
	}
	text, err = readText(in, name)
	return text, true, err
}

// isPiped reports whether standard input is neither closed nor a device such as a terminal or /dev/null.
func isPiped(in io.Reader) bool {
	if file, ok := in.(*os.File); ok {
		info, err := file.Stat()
		return err == nil && info.Mode()&os.ModeCharDevice == 0
	}
	return in != nil
}

// readText reads a script. It reads no more than an At can hold.
func readText(from io.Reader, name string) (string, error) {
	const most = utf8.UTFMax * script.MaxCommand
	data, err := io.ReadAll(io.LimitReader(from, most+1))
	switch isCut := len(data) > most; {
	case err != nil:
		return "", fmt.Errorf("reading the script from %s: %w", name, err)
	case bytes.IndexByte(data, 0) >= 0 || !isCut && !utf8.Valid(data): // What is cut can end inside a character.
		return "", fmt.Errorf("invalid script in %s: expected text in UTF-8", name)
	case isCut || utf8.RuneCount(data) > script.MaxCommand:
		return "", script.ErrTooLong
	}
	return string(data), nil
}
