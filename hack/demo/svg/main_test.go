// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const transcript = `built bin/manager in 1 s

Start a cluster
$ kubectl get nodes
NAME   STATUS

Create a PodSet
$ kubectl get podset,at
NAME

NAME
at.cnat.d2iq.com/a <none> & more

kubectl at: one command
$ kubectl at list
NAME

Every step showed the expected result
`

func TestParse(t *testing.T) {
	want := []step{
		{"kubectl at: one command", []string{"$ kubectl at list", "NAME"}},
		{"Start a cluster", []string{"$ kubectl get nodes", "NAME   STATUS"}},
		{"Create a PodSet", []string{"$ kubectl get podset,at", "NAME", "", "NAME", "at.cnat.d2iq.com/a <none> & more"}},
	}
	if diff := cmp.Diff(want, parse(transcript), cmp.AllowUnexported(step{})); diff != "" {
		t.Error(diff)
	}
}

func TestWrapBreaksLinesAtSpaces(t *testing.T) {
	word := strings.Repeat("a", columns-10)
	for line, want := range map[string][]string{
		word:                            {word},
		"$ kubectl get " + word + " -A": {"$ kubectl get", "    " + word + " -A"},
		"1 " + word + " 234567 89":      {"1 " + word + " 234567", "    89"},
		"1 " + word + "   " + word:      {"1 " + word, "    " + word},
		word + word:                     {word + word[:10], "    " + word[10:]},
		"    " + word + word:            {"    " + word + word[:6], "    " + word[6:]},
	} {
		if diff := cmp.Diff(want, wrap([]string{line})); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

func TestDrawIsValidXMLWithEveryLine(t *testing.T) {
	picture, err := draw(transcript)
	if err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(strings.NewReader(picture))
	var text strings.Builder
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := token.(xml.CharData); ok {
			text.Write(data)
		}
	}
	for _, want := range []string{"kubectl at list", "at.cnat.d2iq.com/a <none> & more", "Create a PodSet"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the picture does not show %q", want)
		}
	}
	if _, err := draw("nothing"); err == nil {
		t.Error("a transcript without steps gives a picture")
	}
}
