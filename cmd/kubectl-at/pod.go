// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// annotationRerunOf is the name of the At that an At repeats.
const annotationRerunOf = "cnat.d2iq.com/rerun-of"

// podOptions are the flags that describe the pod.
type podOptions struct {
	from, image         string
	env                 []string
	labels, annotations []string
	serviceAccount      string
}

func (o *podOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.from, "from", "", "Workload whose image, environment, and volumes the command gets: KIND/NAME or KIND/NAME:CONTAINER, such as deploy/web. With at/NAME, the At to repeat.")
	flags.StringVar(&o.image, "image", "", "Image to run the command in.")
	flags.StringArrayVar(&o.env, "env", nil, "Environment variable NAME=VALUE; may be repeated. Needs --from or --image.")
	flags.StringVar(&o.serviceAccount, "serviceaccount", "", "Service account of the pod. Needs --from or --image.")
	flags.StringArrayVar(&o.labels, "label", nil, "Label KEY=VALUE of the pod; may be repeated. Needs --from or --image.")
	flags.StringArrayVar(&o.annotations, "annotation", nil, "Annotation KEY=VALUE of the pod; may be repeated. Needs --from or --image.")
}

// isSet reports whether the flags say what the pod is made from. Otherwise the operator decides.
func (o *podOptions) isSet() bool { return o.from != "" || o.image != "" }

// validate returns an error about the flags that the API server is not asked about.
func (o *podOptions) validate() error {
	if o.from == "" {
		return nil
	}
	_, err := parseReference(o.from)
	return err
}

// base is what an At is made from: the spec that --from leads to, and the At that it repeats, or "" if there is none.
type base struct {
	spec    cnatv1alpha1.AtSpec
	repeats string
}

// source returns what --from names, and warnings about what is not copied from it.
func (o *podOptions) source(ctx context.Context, c *cluster) (base, []string, error) {
	if o.from == "" {
		return base{}, nil, nil
	}
	from, err := parseReference(o.from)
	if err != nil {
		return base{}, nil, err
	}
	if from.kind == atKind {
		at := &cnatv1alpha1.At{}
		if err := c.Get(ctx, c.key(from.name), at); err != nil {
			return base{}, nil, err
		}
		at.Spec.Suspend, at.Spec.Cancel = nil, nil
		return base{spec: at.Spec, repeats: at.Name}, nil, nil
	}
	w, err := c.workload(ctx, from)
	if err != nil {
		return base{}, nil, err
	}
	template, omitted, err := copyTemplate(w, from.container)
	if err != nil {
		return base{}, nil, err
	}
	var warnings []string
	if len(omitted) > 0 {
		warnings = append(warnings, fmt.Sprintf("not copied from the %s %s: %s", from.kind.Kind, from.name, strings.Join(omitted, ", ")))
	}
	if keys := omittedKeys(&w.template.ObjectMeta, o.labels, o.annotations); len(keys) > 0 {
		warnings = append(warnings, fmt.Sprintf("not copied from the %s %s: %s; --label and --annotation set those that the run needs",
			from.kind.Kind, from.name, strings.Join(keys, ", ")))
	}
	return base{spec: cnatv1alpha1.AtSpec{Template: template}}, warnings, nil
}

// complete returns the pod template with what the flags say, or nil for that of the operator. hasCommand reports whether spec.command
// is given.
func (o *podOptions) complete(template *corev1.PodTemplateSpec, hasCommand bool) (*corev1.PodTemplateSpec, error) {
	if template == nil && o.image != "" {
		template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: defaultContainerName}}}}
	}
	if template == nil {
		if len(o.env) > 0 || len(o.labels) > 0 || len(o.annotations) > 0 || o.serviceAccount != "" {
			return nil, errors.New("--env, --label, --annotation, and --serviceaccount need the pod of --from or --image: without these, the operator decides about the pod")
		}
		return nil, nil
	}
	main := &template.Spec.Containers[0]
	if o.image != "" {
		main.Image = o.image
		main.ImagePullPolicy = "" // That of --from is for its image.
	}
	if hasCommand || o.image != "" {
		main.Command, main.Args = nil, nil // Those of --from belong to its image.
	}
	if o.serviceAccount != "" {
		template.Spec.ServiceAccountName = o.serviceAccount
	}
	labels, err := parsePairs("--label", o.labels, validation.IsValidLabelValue)
	if err != nil {
		return nil, err
	}
	annotations, err := parsePairs("--annotation", o.annotations, func(string) []string { return nil })
	if err != nil {
		return nil, err
	}
	template.Labels, template.Annotations = merge(template.Labels, labels), merge(template.Annotations, annotations)
	return template, setEnv(main, o.env)
}

// parsePairs reads the values KEY=VALUE of a flag. The API server would find a mistake only when it creates the pod.
func parsePairs(flag string, pairs []string, problems func(value string) []string) (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("%s %s: it is KEY=VALUE", flag, pair)
		}
		if problems := append(validation.IsQualifiedName(strings.ToLower(key)), problems(value)...); len(problems) > 0 {
			return nil, fmt.Errorf("%s %s: %s", flag, pair, strings.Join(problems, "; "))
		}
		values[key] = value
	}
	return values, nil
}

// merge returns the entries of both maps, or nil if there are none. Those of the second replace those of the first.
func merge(first, second map[string]string) map[string]string {
	if len(first)+len(second) == 0 {
		return nil
	}
	all := map[string]string{}
	maps.Copy(all, first)
	maps.Copy(all, second)
	return all
}
