// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errReader is an API server that answers with an error, or with a pod if there is no error for it.
type errReader struct {
	client.Reader
	errs map[client.ObjectKey]error
}

func (r errReader) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if err := r.errs[key]; err != nil {
		return err
	}
	obj.SetName(key.Name)
	obj.SetLabels(map[string]string{"app": "web"})
	return nil
}

func TestReadMissing(t *testing.T) {
	reader := errReader{errs: map[client.ObjectKey]error{
		{Namespace: "shop", Name: "gone"}:   apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "gone"),
		{Namespace: "shop", Name: "secret"}: errors.New("forbidden"),
	}}
	lookUp := func(rounds ...[]string) (found []map[string]*corev1.Pod, err error) {
		err = kinds.ReadMissing(t.Context(), reader, "shop", func(answers map[string]*corev1.Pod) []string {
			found = append(found, maps.Clone(answers))
			if len(found) > len(rounds) {
				return nil
			}
			return rounds[len(found)-1]
		})
		return found, err
	}
	there := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "there"}} // without labels, which the controllers do not read
	found, err := lookUp([]string{"there"}, []string{"gone"})
	want := []map[string]*corev1.Pod{nil, {"there": there}, {"there": there, "gone": nil}}
	if diff := cmp.Diff(want, found); diff != "" || err != nil {
		t.Errorf("%v; the pods in each round (-want +got):\n%s", err, diff)
	}
	if _, err := lookUp([]string{"secret"}); err == nil || !strings.Contains(err.Error(), "reading Pod secret: forbidden") {
		t.Errorf("got %v", err)
	}
}
