// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/workload"
)

// evil retitles a terminal, clears it, begins another line, and turns the direction of text.
const evil = "\x1b]0;owned\a\x1b[2J\r\nat/x succeeded\u202e\u009b"

// poison sets every string of an object, and gives each list and map an entry.
func poison(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(evil)
	case reflect.Pointer:
		if depth > 0 && v.Type() != reflect.TypeFor[*metav1.Time]() {
			v.Set(reflect.New(v.Type().Elem()))
			poison(v.Elem(), depth-1)
		}
	case reflect.Slice:
		if depth > 0 && v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			poison(v.Index(0), depth-1)
		}
	case reflect.Map:
		if depth > 0 && v.Type().Key().Kind() == reflect.String && v.Type().Elem().Kind() == reflect.String {
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf(evil).Convert(v.Type().Key()), reflect.ValueOf(evil).Convert(v.Type().Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() {
				poison(field, depth)
			}
		}
	default: // no string
	}
}

// Everybody who may write an object writes what those see who look at it.
func TestPrintable(t *testing.T) {
	var out bytes.Buffer
	p := newPlugin(genericiooptions.IOStreams{Out: &out, ErrOut: &out}, clocktesting.NewFakeClock(saturday()))
	p.zone = "UTC"
	r := &request{plugin: p, cluster: &cluster{namespace: evil}, cmd: listVerb().command(p)}
	for _, conditionType := range []string{cnatv1alpha1.ConditionScheduled, cnatv1alpha1.ConditionReady, cnatv1alpha1.ConditionFailed} {
		at := &cnatv1alpha1.At{}
		poison(reflect.ValueOf(at).Elem(), 8)
		condition := &at.Status.Conditions[0]
		condition.Type, condition.Status = conditionType, metav1.ConditionFalse
		at.Name, condition.Reason = "x", "Why" // The API server validates both.
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(at)
		if err != nil {
			t.Fatal(err)
		}
		object := newAtObject()
		object.Object = fields
		for _, columns := range []columns{{location: time.UTC}, {location: time.UTC, wide: true, namespace: true}} {
			l := &lister{request: r, columns: columns}
			if err := l.printTable([]cnatv1alpha1.At{*at}, true); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.show(at, object); err != nil {
			t.Fatal(err)
		}
		done := at.DeepCopy()
		done.Status.Reason, done.Status.Result = cnatv1alpha1.ReasonEvicted, cnatv1alpha1.ResultFailed
		done.Status.CompletionTime = &done.CreationTimestamp
		for _, err := range []error{outcome(at), outcome(done), hasAttempt(at, 5), canBeApproved(at, "7", saturday())} {
			message, _ := describe(err)
			_, _ = io.WriteString(p.ErrOut, message+"\n")
		}
		r.warn(runsAt(at, saturday(), saturday(), []string{evil}))
		_ = r.report(at, heldBy(at))
	}
	w := &workload.Workload{}
	poison(reflect.ValueOf(&w.Template).Elem(), 9)
	w.Kind, w.Name, w.Claims = evil, evil, []string{evil}
	main := &w.Template.Spec.Containers[0]
	main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: "own", MountPath: evil, SubPathExpr: "$(" + evil + ")"})
	for _, with := range [][]string{nil, {evil}} {
		_, omitted, err := w.Copy("", with)
		if err != nil {
			omitted = append(omitted, err.Error())
		}
		r.warn(append(omitted, w.OmittedKeys(nil, nil)...)...)
	}
	r.warn(r.hint("logs", evil))

	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "at/x succeeded") {
			t.Errorf("an object has begun a line of its own: %q", line)
		}
		if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(c rune) bool { return c != '\t' && !unicode.IsPrint(c) }) {
			t.Errorf("%q", line)
		}
	}
	if strings.Count(out.String(), `\x1b]0;owned`) < 50 {
		t.Errorf("only this is printed: %s", out.String())
	}
}
