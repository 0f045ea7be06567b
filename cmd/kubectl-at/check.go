// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/timespec"
	"github.com/redhat/podset-operator/internal/watchnamespace"
)

// answerFailed is the answer to a question that keeps Ats from running.
const answerFailed = "FAILED"

// checkPatience is how long the cluster may take to answer a question about the operator.
const checkPatience = 10 * time.Second

// twoKeysLabel is the label of a namespace with two keys, and twoKeysRequired its value.
const twoKeysLabel, twoKeysRequired = "cnat.d2iq.com/two-keys", "required"

func checkVerb() verb {
	return verb{
		use: "check", args: noArguments,
		suggestFor: []string{"doctor", "diagnose", "status"},
		short:      "Find out why nothing happens",
		long: `
			Check whether the cluster has the kinds and the operator, whether you may create Ats in the namespace, whether it needs two
			keys, and which Ats do not run, and why.

			The exit code is 1 if something keeps Ats from running. What you have no permission to look at is unknown.`,
		example: `
			# Find out why nothing happens in a namespace
			kubectl at check -n team`,
		run: func(r *request) error {
			ctx, cancel := context.WithTimeout(r.ctx(), checkPatience)
			defer cancel()
			table := printers.GetNewTabWriter(r.Out)
			c := &checker{request: r, table: table}
			c.line("plugin", "ok", version)
			if c.server() {
				c.operator(ctx)
				c.permission(ctx)
				c.ats(ctx)
			}
			if err := table.Flush(); err != nil || !c.failed {
				return err
			}
			return errors.New("something keeps Ats from running")
		},
	}
}

// checker prints a line for each question.
type checker struct {
	*request

	table  io.Writer
	failed bool
}

func (c *checker) line(question, answer, detail string) {
	c.failed = c.failed || answer == answerFailed
	_, _ = fmt.Fprintf(c.table, "%s\t%s\t%s\n", question, answer, printable(detail))
}

// error prints a line about a question that the cluster does not answer.
func (c *checker) error(question, answer string, err error) {
	message, _ := describe(err)
	c.line(question, answer, message)
}

// server checks the API server and the kinds, and reports whether there are Ats.
func (c *checker) server() (hasAts bool) {
	client := discovery.NewDiscoveryClientForConfigOrDie(c.rest) // connect has used it
	server, err := client.ServerVersion()
	if err != nil {
		c.error("API server", answerFailed, err)
		return false
	}
	c.line("API server", "ok", c.rest.Host+", Kubernetes "+server.GitVersion)
	for _, kind := range []schema.GroupVersionKind{atKind, appv1alpha1.GroupVersion.WithKind("PodSet")} {
		_, err := client.ServerResourcesForGroupVersion(kind.GroupVersion().String())
		switch {
		case apierrors.IsNotFound(err) && kind != atKind:
			c.line("kind "+kind.Kind, "none", "its CustomResourceDefinition is not installed")
		case apierrors.IsNotFound(err):
			c.line("kind "+kind.Kind, answerFailed, "its CustomResourceDefinition is not installed: podset-operator must be installed first")
		case err != nil:
			c.error("kind "+kind.Kind, answerFailed, err)
		default:
			c.line("kind "+kind.Kind, "ok", kind.GroupVersion().String())
			hasAts = hasAts || kind == atKind
		}
	}
	return hasAts
}

// operator checks the Deployments of the operator.
func (c *checker) operator(ctx context.Context) {
	installations, err := c.installations(ctx)
	switch {
	case err != nil:
		c.error("operator", "unknown", err)
	case len(installations) == 0:
		c.line("operator", answerFailed, "there is no Deployment with the label "+operatorLabel)
	}
	serves := func(i installation) bool { return len(i.namespaces) == 0 || slices.Contains(i.namespaces, c.namespace) }
	for _, i := range installations {
		answer, detail := "ok", fmt.Sprintf("%s, %d of its pods are ready", i, i.ready)
		if len(i.namespaces) > 0 {
			detail += ", serves " + strings.Join(i.namespaces, ", ")
		}
		switch {
		case !serves(i) && slices.ContainsFunc(installations, serves):
			answer = "other" // Another one is for this namespace.
		case !serves(i) || i.ready == 0:
			answer = answerFailed
		}
		c.line("operator", answer, detail)
	}
}

// operatorLabel is that of the Deployments of the operator.
const operatorLabel = "app.kubernetes.io/name=podset-operator"

// installation is a Deployment of the operator.
type installation struct {
	namespace, name, image string
	namespaces             []string // that it serves, or none for all
	ready                  int32
}

func (i installation) String() string {
	return fmt.Sprintf("%s (Deployment %s in the namespace %s)", i.image, i.name, i.namespace)
}

// installations returns the Deployments of the operator.
func (c *cluster) installations(ctx context.Context) ([]installation, error) {
	utilruntime.Must(appsv1.AddToScheme(scheme)) // here, because it takes time that the other verbs do not need
	list := &appsv1.DeploymentList{}
	if err := c.List(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{LabelSelector: operatorLabel}}); err != nil {
		return nil, err
	}
	var found []installation
	for i := range list.Items {
		d := &list.Items[i]
		found = append(found, installation{
			namespace: d.Namespace, name: d.Name, image: d.Spec.Template.Spec.Containers[0].Image, namespaces: servedNamespaces(d), ready: d.Status.ReadyReplicas,
		})
	}
	return found, nil
}

// servedNamespaces returns the namespaces that an operator serves, or nothing for all. They are a value, or a field of the pods: their own
// namespace or, under Operator Lifecycle Manager, an annotation.
func servedNamespaces(d *appsv1.Deployment) []string {
	for _, variable := range d.Spec.Template.Spec.Containers[0].Env {
		value := variable.Value
		if from := variable.ValueFrom; from != nil && from.FieldRef != nil {
			_, annotation, _ := strings.Cut(strings.Trim(from.FieldRef.FieldPath, "']"), "['")
			value = cmp.Or(d.Spec.Template.Annotations[annotation], map[string]string{"metadata.namespace": d.Namespace}[from.FieldRef.FieldPath])
		}
		if variable.Name == watchnamespace.EnvVar {
			namespaces, _ := watchnamespace.Parse(value) // An operator with another value does not start.
			return namespaces
		}
	}
	return nil
}

// permission creates an At as a dry run, which asks RBAC and every admission policy, and names two keys.
func (c *checker) permission(ctx context.Context) {
	at := &cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, GenerateName: "check-"}, Spec: cnatv1alpha1.AtSpec{Schedule: "now", Command: "true"}}
	namespace := &corev1.Namespace{}
	err := c.Get(ctx, client.ObjectKey{Name: c.namespace}, namespace)
	hasTwoKeys := err == nil && namespace.Labels[twoKeysLabel] == twoKeysRequired
	switch {
	case hasTwoKeys:
		c.line("two keys", "yes", "create Ats with --suspend; another user releases them with kubectl at approve")
		at.Spec.Suspend = ptr.To(true)
		if user, err := c.userName(ctx); err == nil {
			metav1.SetMetaDataAnnotation(&at.ObjectMeta, cnatv1alpha1.AnnotationRequestedBy, user)
		}
	case err == nil:
		c.line("two keys", "no", "the namespace "+c.namespace+" has no label "+twoKeysLabel+"="+twoKeysRequired)
	case apierrors.IsNotFound(err):
		c.line("namespace", answerFailed, "there is no namespace "+c.namespace)
		return
	default:
		c.error("two keys", "unknown", err)
	}
	if err := c.Create(ctx, at, client.DryRunAll); err != nil {
		c.error("create Ats", answerFailed, err)
		return
	}
	c.line("create Ats", "ok", "in the namespace "+c.namespace)
}

// ats names the Ats that do not run. An operator that serves the namespace sees a new At at once.
func (c *checker) ats(ctx context.Context) {
	list := &cnatv1alpha1.AtList{}
	if err := c.List(ctx, list, client.InNamespace(c.namespace)); err != nil {
		c.error("Ats", "unknown", err)
		return
	}
	sortByTime(list.Items)
	held := 0
	for i := range list.Items {
		at := &list.Items[i]
		age := c.clock.Now().Sub(at.CreationTimestamp.Time)
		switch {
		case isUnseen(at) && age > operatorPatience:
			c.line("at/"+at.Name, answerFailed, fmt.Sprintf("no operator has seen it for %s: none runs, or none serves the namespace %s", timespec.FormatSeconds(int64(age/time.Second)), c.namespace))
		case heldBy(at) != "" && meta.IsStatusConditionTrue(at.Status.Conditions, cnatv1alpha1.ConditionStalled):
			c.line("at/"+at.Name, answerFailed, heldBy(at))
		case heldBy(at) != "":
			c.line("at/"+at.Name, "waits", heldBy(at))
		default:
			continue
		}
		held++
	}
	c.line("Ats", "ok", fmt.Sprintf("%d in the namespace %s, of which %d do not run or wait for something", len(list.Items), c.namespace, held))
}

// printVersions prints the version of the plugin, and that of the operator if the cluster tells it.
func (p *plugin) printVersions(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	c, err := p.connect()
	var installations []installation
	if err == nil {
		installations, err = c.installations(ctx)
	}
	operator := "there is no Deployment with the label " + operatorLabel
	switch {
	case err != nil:
		message, _ := describe(err)
		operator = "unknown: " + message
	case len(installations) > 0:
		operator = printable(strings.Trim(fmt.Sprint(installations), "[]"))
	}
	_, err = fmt.Fprintf(p.Out, "kubectl at version %s\npodset-operator: %s\n", version, operator)
	return err
}
