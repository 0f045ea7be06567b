// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"encoding/json"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/controllers"
)

// The controllers read no metadata of a PodSet or At that controllers/trim.go drops from the cache, such as a label, or an annotation that it
// does not list. What they read would always be empty.
func TestTrim_reads(t *testing.T) {
	reads := 0
	for _, dir := range []string{"controllers", "internal/podset", "internal/at", "internal/at/proof", "internal/at/spec"} {
		files, info, fset := typeCheck(t, dir)
		for _, file := range files {
			indexed := map[ast.Expr]ast.Expr{}
			ast.Inspect(file, func(n ast.Node) bool {
				if index, ok := n.(*ast.IndexExpr); ok {
					indexed[index.X] = index.Index
				}
				selector, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if object, field := metadataOf(info.Selections[selector]); field != "" {
					key := ""
					if index := indexed[selector]; index != nil && info.Types[index].Value != nil {
						key = constant.StringVal(info.Types[index].Value)
					}
					if reads++; !isKept(t, object, field, key) {
						t.Errorf("%s reads %s[%q] of a cached object: keep it in controllers/trim.go", fset.Position(n.Pos()), field, key)
					}
				}
				return true
			})
		}
	}
	if reads < 20 {
		t.Errorf("only %d reads of metadata were found", reads)
	}
}

// metadataOf returns the field of ObjectMeta that an expression reads from a PodSet or an At, or "" if it reads none, and a new object of the kind.
func metadataOf(s *types.Selection) (object client.Object, field string) {
	if s == nil {
		return nil, ""
	}
	switch strings.TrimPrefix(s.Recv().String(), "*") {
	case "github.com/redhat/podset-operator/api/app/v1alpha1.PodSet":
		object = &appv1alpha1.PodSet{}
	case "github.com/redhat/podset-operator/api/cnat/v1alpha1.At":
		object = &cnatv1alpha1.At{}
	default:
		return nil, ""
	}
	field = strings.TrimPrefix(s.Obj().Name(), "Get")
	if _, ok := reflect.TypeFor[metav1.ObjectMeta]().FieldByName(field); !ok {
		return nil, ""
	}
	return object, field
}

// isKept reports whether the cache of the manager keeps a field of the metadata of an object, or the annotation with this key.
func isKept(t *testing.T, object client.Object, field, key string) bool {
	t.Helper()
	var o ctrl.Options
	controllers.ConfigureCaches(&o, nil)
	meta := reflect.ValueOf(object).Elem().FieldByName("ObjectMeta").Addr().Interface().(*metav1.ObjectMeta)
	full := `{"name":"a","namespace":"a","uid":"a","resourceVersion":"1","generation":1,"creationTimestamp":"2026-11-21T00:00:00Z",
		"deletionTimestamp":"2026-11-21T00:00:00Z","generateName":"a","finalizers":["a"],"labels":{"a":"a"},"ownerReferences":[{"uid":"a"}]}`
	if err := json.Unmarshal([]byte(full), meta); err != nil {
		t.Fatal(err)
	}
	meta.Annotations = map[string]string{key: "a"}
	if _, err := o.Cache.DefaultTransform(object); err != nil {
		t.Fatal(err)
	}
	return !reflect.ValueOf(meta).Elem().FieldByName(field).IsZero()
}

// typeCheck returns the syntax and the types of a package without its tests.
func typeCheck(t *testing.T, dir string) ([]*ast.File, *types.Info, *token.FileSet) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./"+dir)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, export, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = export
	}
	fset, info := token.NewFileSet(), &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{}}
	var files []*ast.File
	for _, name := range glob(t, dir+"/*.go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, filepath.Join(root, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", open)}
	if _, err := config.Check(dir, fset, files, info); err != nil {
		t.Fatal(err)
	}
	return files, info, fset
}
