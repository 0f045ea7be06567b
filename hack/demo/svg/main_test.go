// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const transcript = `built bin/manager in 1 s

Start a cluster
$ kubectl get nodes
NAME   STATUS

1. Schedule a command
$ kubectl at tomorrow -- true
at/a runs tomorrow

2. Create a PodSet
$ kubectl get podset,at
NAME

NAME
at.cnat.d2iq.com/a <none> & more
$ kubectl get pods
pod

Every step showed the expected result
`

func TestParse(t *testing.T) {
	want := [][]string{
		{"Schedule a command", "$ kubectl at tomorrow -- true", "at/a runs tomorrow"},
		{"Create a PodSet", "$ kubectl get podset,at", "NAME", "", "NAME", "at.cnat.d2iq.com/a <none> & more", "$ kubectl get pods", "pod"},
	}
	var got [][]string
	for _, s := range parse(transcript) {
		var texts []string
		for _, l := range s.lines {
			texts = append(texts, l.text)
		}
		got = append(got, texts)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSchedule(t *testing.T) {
	scenes := parse(transcript)
	length, last := schedule(scenes), time.Duration(0)
	for _, s := range scenes {
		for _, l := range s.lines {
			if l.at <= last {
				t.Errorf("%q appears at %v, after a line at %v", l.text, l.at, last)
			}
			last = l.at
		}
		last = s.end - 1 // The title of the next scene appears when the lines of this one disappear.
	}
	if length != scenes[1].end {
		t.Errorf("the picture takes %v, and its last scene ends at %v", length, scenes[1].end)
	}
}

func TestWrap(t *testing.T) {
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

func TestDraw(t *testing.T) {
	picture, err := draw(transcript)
	if err != nil {
		t.Fatal(err)
	}
	visible := map[string]bool{}
	for decoder := xml.NewDecoder(strings.NewReader(picture)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "text" {
			var element struct {
				Opacity int    `xml:"opacity,attr"`
				Text    string `xml:",chardata"`
			}
			if err := decoder.DecodeElement(&element, &start); err != nil {
				t.Fatal(err)
			}
			visible[element.Text] = element.Opacity == 1
		}
	}
	want := map[string]bool{
		"Schedule a command": false, "$ kubectl at tomorrow -- true": false, "at/a runs tomorrow": false,
		"Create a PodSet": true, "$ kubectl get podset,at": true, "NAME": true, "at.cnat.d2iq.com/a <none> & more": true,
		"$ kubectl get pods": true, "pod": true,
	}
	if diff := cmp.Diff(want, visible); diff != "" {
		t.Error(diff)
	}
	if _, err := draw("nothing"); err == nil {
		t.Error("a transcript without scenes gives a picture")
	}
}
