// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/workload"
	"github.com/redhat/podset-operator/internal/at/spec"
)

// defaultContainerName is the name of the container of --image.
const defaultContainerName = "main"

// annotationRerunOf is the name of the At that an At repeats.
const annotationRerunOf = "cnat.d2iq.com/rerun-of"

// podOptions are the flags that describe the pod.
type podOptions struct {
	from, image         string
	with, env           []string
	labels, annotations []string
	serviceAccount      string
	source              reference // what --from means
}

func (o *podOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.from, "from", "", "Workload whose image, environment, and volumes the command gets: `KIND/NAME` or KIND/NAME:CONTAINER, such as deploy/web. With at/NAME, the At to repeat.")
	flags.StringArrayVar(&o.with, "with", nil, "Init `CONTAINER` or sidecar of --from that the command needs, such as a database proxy; may be repeated. An ordinary container becomes a native sidecar: it starts before the command and ends after it.")
	flags.StringVar(&o.image, "image", "", "`IMAGE` to run the command in.")
	flags.StringArrayVar(&o.env, "env", nil, "Environment variable `NAME=VALUE`; may be repeated. Requires --from or --image.")
	flags.StringVar(&o.serviceAccount, "serviceaccount", "", "Service account `NAME` of the pod. Requires --from or --image.")
	flags.StringArrayVar(&o.labels, "label", nil, "Label `KEY=VALUE` of the pod; may be repeated. Requires --from or --image.")
	flags.StringArrayVar(&o.annotations, "annotation", nil, "Annotation `KEY=VALUE` of the pod; may be repeated. Requires --from or --image.")
}

// isSet reports whether the flags say what the pod is made from. Otherwise the operator decides.
func (o *podOptions) isSet() bool { return o.from != "" || o.image != "" }

// validate returns an error about the flags that the API server is not asked about.
func (o *podOptions) validate() (err error) {
	if o.from == "" && len(o.with) > 0 {
		return errors.New("--with requires --from")
	}
	if o.from == "" {
		return nil
	}
	if o.source, err = parseReference(o.from); err == nil && isAt(o.source.kind) && len(o.with) > 0 {
		return fmt.Errorf("--with cannot be combined with --from %s: an At is repeated as it is", o.from)
	}
	return err
}

// imagePattern is the form of an image: an optional registry, a repository, a tag, and a digest.
var imagePattern = regexp.MustCompile(`^(?:[\w.\[\]:-]+/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*(?::\w[\w.-]*)?(?:@[\w+.-]+:[0-9a-fA-F]{32,})?$`)

// spec returns the spec that --from leads to, and warnings about what is not copied or does not work. command is that
// of the At, or "".
func (o *podOptions) spec(r *request, command string) (_ cnatv1alpha1.AtSpec, warnings []string, _ error) {
	if o.image != "" && !imagePattern.MatchString(o.image) {
		warnings = append(warnings, fmt.Sprintf("the image %q has an invalid name, so no node can pull it", o.image))
	}
	if o.from == "" {
		return cnatv1alpha1.AtSpec{}, warnings, nil
	}
	if isAt(o.source.kind) {
		at := &cnatv1alpha1.At{}
		err := r.Get(r.ctx(), r.key(o.source.name), at)
		at.Spec.Suspend, at.Spec.Cancel = nil, nil
		return at.Spec, warnings, err
	}
	spec, omitted, err := o.copy(r, command)
	return spec, append(warnings, omitted...), err
}

// copy returns the spec that a workload leads to, and warnings about what is not copied.
func (o *podOptions) copy(r *request, command string) (cnatv1alpha1.AtSpec, []string, error) {
	w, err := r.workload(o.source)
	if err != nil {
		return cnatv1alpha1.AtSpec{}, nil, err
	}
	template, omitted, err := w.Copy(o.source.container, o.with)
	if err != nil {
		return cnatv1alpha1.AtSpec{}, nil, err
	}
	warnings := r.claimWarnings(template)
	if len(omitted) > 0 {
		warnings = append(warnings, fmt.Sprintf("not copied from the %s %s: %s", w.Kind, w.Name, strings.Join(omitted, ", ")))
	}
	if keys := w.OmittedKeys(o.labels, o.annotations); len(keys) > 0 {
		warnings = append(warnings, fmt.Sprintf("not copied from the %s %s: %s; --label and --annotation set those that the run needs",
			w.Kind, w.Name, strings.Join(keys, ", ")))
	}
	first := &template.Spec.Containers[0]
	if wrapper := workload.Wrapper(first); command != "" && wrapper != "" && !strings.HasPrefix(command, wrapper+" ") {
		warnings = append(warnings, fmt.Sprintf("the command takes the place of %s, which starts the program in the %s %s: if it prepares the environment, put it before the command",
			wrapper, w.Kind, w.Name))
	}
	if warning := r.omittedSelectors(w, o.labels); warning != "" {
		warnings = append(warnings, warning)
	}
	return cnatv1alpha1.AtSpec{Template: template}, warnings, nil
}

// omittedSelectors returns a warning about network policies that are not for the pod, or "". A user without permission
// to read them gets none.
func (r *request) omittedSelectors(w *workload.Workload, labels []string) string {
	policies, services, copied := &networkingv1.NetworkPolicyList{}, &corev1.ServiceList{}, map[string]string{}
	if err := r.List(r.ctx(), policies, client.InNamespace(r.namespace)); err != nil || len(policies.Items) == 0 {
		return ""
	}
	_ = r.List(r.ctx(), services, client.InNamespace(r.namespace)) // Without permission, none is named.
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		copied[key] = value
	}
	return w.OmittedSelectors(policies.Items, services.Items, copied)
}

// claimWarnings returns warnings about the persistent volume claims of a template that are not known to be for several
// nodes at a time: the run waits, or writes to what the application has open.
func (r *request) claimWarnings(template *corev1.PodTemplateSpec) []string {
	var warnings []string
	for _, volume := range template.Spec.Volumes {
		if volume.PersistentVolumeClaim == nil {
			continue
		}
		claim, modes := &corev1.PersistentVolumeClaim{}, "access modes unknown"
		if err := r.Get(r.ctx(), r.key(volume.PersistentVolumeClaim.ClaimName), claim); err == nil {
			modes = strings.TrimSpace(fmt.Sprint(claim.Spec.AccessModes))
			if slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteMany) || slices.Contains(claim.Spec.AccessModes, corev1.ReadOnlyMany) {
				continue
			}
		}
		warnings = append(warnings, fmt.Sprintf("the volume %s is the claim %s (%s) of the application: while the application runs, the pod may wait for it, or both write to it",
			volume.Name, volume.PersistentVolumeClaim.ClaimName, strings.Trim(modes, "[]")))
	}
	return warnings
}

// complete returns the pod template with what the flags say, or nil for that of the operator. hasCommand reports
// whether spec.command is given.
func (o *podOptions) complete(template *corev1.PodTemplateSpec, hasCommand bool) (*corev1.PodTemplateSpec, error) {
	if template == nil && o.image != "" {
		template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: defaultContainerName}}}}
	}
	if template == nil {
		if len(o.env) > 0 || len(o.labels) > 0 || len(o.annotations) > 0 || o.serviceAccount != "" {
			return nil, errors.New("--env, --label, --annotation, and --serviceaccount require --from or --image: without these, the operator decides about the pod")
		}
		return nil, nil
	}
	first := &template.Spec.Containers[0]
	if o.image != "" {
		first.Image = o.image
		first.ImagePullPolicy = "" // That of --from is for its image.
	}
	if hasCommand || o.image != "" {
		first.Command, first.Args = nil, nil // Those of --from belong to its image.
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
	for key, value := range labels {
		metav1.SetMetaDataLabel(&template.ObjectMeta, key, value)
	}
	for key, value := range annotations {
		metav1.SetMetaDataAnnotation(&template.ObjectMeta, key, value)
	}
	return template, workload.SetEnv(first, o.env)
}

// parsePairs reads the values KEY=VALUE of a flag. The API server would find a mistake only when it creates the pod.
func parsePairs(flag string, pairs []string, problems func(value string) []string) (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("invalid %s %q: expected KEY=VALUE", flag, pair)
		}
		if problems := append(validation.IsQualifiedName(strings.ToLower(key)), problems(value)...); len(problems) > 0 {
			return nil, fmt.Errorf("invalid %s %q: %s", flag, pair, strings.Join(problems, "; "))
		}
		values[key] = value
	}
	return values, nil
}

// reference is KIND/NAME[:CONTAINER].
type reference struct{ kind, name, container string }

// isAt reports whether a kind, as kubectl takes and prints it, is that of an At.
func isAt(kind string) bool {
	return slices.Contains([]string{"at", "ats", "at.cnat.d2iq.com", "ats.cnat.d2iq.com"}, strings.ToLower(kind))
}

// referencePattern has the kind, the name, and the container. kubectl takes and prints KIND/NAME, and takes KIND NAME.
var referencePattern = regexp.MustCompile(`^\s*([^/:\s]+)(?:/|\s+)([^/:\s]+)(?::([^/:\s]+))?\s*$`)

// parseReference reads the value of --from.
func parseReference(text string) (reference, error) {
	match := referencePattern.FindStringSubmatch(text)
	if match == nil {
		return reference{}, fmt.Errorf("invalid --from %q: expected KIND/NAME or KIND/NAME:CONTAINER, such as deploy/web", text)
	}
	from := reference{kind: match[1], name: match[2], container: match[3]}
	if isAt(from.kind) && from.container != "" {
		return reference{}, fmt.Errorf("invalid --from %q: expected at/%s, because an At is repeated as it is", text, from.name)
	}
	return from, nil
}

// workload reads what --from names, by any name of a kind that kubectl get takes. The pod template of most kinds, also
// of other projects, is in spec.template.
func (r *request) workload(from reference) (*workload.Workload, error) {
	infos, err := resource.NewBuilder(r.config).Unstructured().NamespaceParam(r.namespace).DefaultNamespace().
		ResourceNames(from.kind, from.name).Do().Infos()
	if err != nil {
		return nil, err
	}
	w, err := workload.Of(infos[0].Object.(*unstructured.Unstructured))
	if err != nil {
		err = fmt.Errorf("invalid --from \"%s/%s\": %w", from.kind, from.name, err)
	}
	return w, err
}

// podOf returns the pod of a new At as far as the API server can reject it. The At has no UID yet, so it owns nothing.
func podOf(at *cnatv1alpha1.At) *corev1.Pod {
	pod := spec.NewPod(at, spec.Defaults{}, 0)
	pod.OwnerReferences = nil
	if at.Name == "" {
		pod.Name, pod.GenerateName = "", at.GenerateName
	}
	return pod
}
