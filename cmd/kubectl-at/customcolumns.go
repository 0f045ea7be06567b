// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// formatCustomColumns is the format of kubectl get -o custom-columns=NAME:PATH,... kubectl has it in a package that registers every
// kind of Kubernetes when a program starts, which takes longer than "kubectl at list" may take.
const formatCustomColumns = "custom-columns"

// customColumn is NAME:PATH.
type customColumn struct {
	name string
	path *jsonpath.JSONPath
}

// parseCustomColumns reads what is behind custom-columns=. A path needs neither braces nor a leading dot.
func parseCustomColumns(spec string) ([]customColumn, error) {
	var columns []customColumn
	for column := range strings.SplitSeq(spec, ",") {
		name, path, ok := strings.Cut(column, ":")
		if !ok || name == "" || path == "" {
			return nil, fmt.Errorf("-o custom-columns=%s: each column is HEADER:PATH, such as NAME:.metadata.name", spec)
		}
		path = strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(path, "{"), "}"), ".")
		parsed := jsonpath.New(name).AllowMissingKeys(true)
		if err := parsed.Parse("{." + path + "}"); err != nil {
			return nil, fmt.Errorf("-o custom-columns=%s: %w", spec, err)
		}
		columns = append(columns, customColumn{name: name, path: parsed})
	}
	return columns, nil
}

func customHeader(columns []customColumn) []string {
	var names []string
	for _, column := range columns {
		names = append(names, column.name)
	}
	return names
}

// customRow returns the cells of an At, with <none> for what it does not have.
func customRow(columns []customColumn, at *cnatv1alpha1.At) []string {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(at)
	var cells []string
	for _, column := range columns {
		var values []string
		found, findErr := column.path.FindResults(content)
		if err == nil && findErr == nil {
			for _, results := range found {
				for _, result := range results {
					values = append(values, printable(fmt.Sprint(result.Interface())))
				}
			}
		}
		cells = append(cells, orNone(strings.Join(values, ",")))
	}
	return cells
}
