// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/redhat/podset-operator/test/invariants"
)

// oneName is the name that a webhook gives the pods of all PodSets.
const oneName = "taken"

// webhook is what admission changes in every new pod of a scenario, and its answers.
type webhook struct {
	injects                                                             bool
	name, generatedName, labels, annotations, owners, renames, reorders bool
	// oneName is true if the pods of all PodSets get the same name.
	oneName bool
	// restarts is the new restartPolicy of pods of Ats, or "" if it does not change.
	restarts corev1.RestartPolicy
	// sparesAts is true if admission does not change the identity of pods of Ats for now, always if it never does, and changesMind if it
	// does not in dry runs.
	sparesAts, always, changesMind bool
	// policy is the answer to creates and dry runs of pods of Ats, and failure that to dry runs. Nil means that they are accepted.
	policy, failure error
	// strips is true if admission removes the gates of pods of Ats, and queues if it adds one of another controller. first is true if that is
	// the first gate, and keeps if the pods also get a finalizer of that controller.
	strips, queues, first, keeps bool
	// opens, stops, and deletes are the answers to requests to remove the gate of a pod of an At, to stop such a pod, and to delete it, or nil.
	// budgets is that to a request to create the budget of an At.
	opens, stops, deletes, budgets error
	// undoes is true if admission restores the deadline of a pod that is stopped, and touches if it adds an annotation to a changed pod.
	undoes, touches bool
}

// queueGate and queueFinalizer are those of a controller that queues pods.
const queueGate, queueFinalizer = "example.com/queue", "example.com/queued"

// changedName is the prefix that admission adds to the name of a pod.
const changedName = "changed-"

func newWebhook(s Scenario) webhook {
	w := webhook{injects: s.has(Sidecar), touches: s.has(Updates)}
	if s.has(Queue) {
		w.queues, w.first, w.keeps = true, s.Seed/4%2 == 0, s.Seed/8%2 == 0
	}
	if !s.has(Admission) {
		return w
	}
	random := rand.New(rand.NewPCG(s.Seed, 6)) //nolint:gosec // reproducible
	for _, change := range []*bool{&w.name, &w.generatedName, &w.labels, &w.annotations, &w.owners, &w.renames, &w.reorders} {
		*change = random.IntN(4) == 0
	}
	if random.IntN(8) == 0 {
		w.restarts = pick(random, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure)
	}
	w.sparesAts, w.changesMind = random.IntN(2) == 0, random.IntN(3) == 0
	w.always = w.sparesAts && !s.has(Policy)
	w.oneName = random.IntN(8) == 0
	w.strips, w.queues = random.IntN(8) == 0, random.IntN(4) == 0 || w.queues
	// Nothing would show whose pod it is, which runs after its create, or it would never end.
	if w.name || w.generatedName || w.owners && w.labels && w.annotations || w.restarts != "" {
		w.strips = false
	}
	return w
}

// policies are answers of policies, and failures are those of webhooks that cannot answer a dry run.
var (
	policies = []error{
		nil, apierrors.NewForbidden(groupResources[pods], "", errors.New("denied by policy")),
		apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "create", groupResources[pods], "", "admission webhook denied the request", 0, false),
	}
	failures = []error{
		nil, apierrors.NewInternalError(errors.New("failed calling webhook")),
		apierrors.NewBadRequest("admission webhook does not support dry run"),
	}
)

// changesIdentity reports whether the operator must treat a pod of an At as another pod after admission.
func (w webhook) changesIdentity(dryRun bool) bool {
	return !w.sparesAts && (!dryRun || !w.changesMind) && w.canChangeIdentity()
}

// modifiesSets reports whether admission changes the identity of the pods of PodSets, so that the operator does not use them.
func (w webhook) modifiesSets() bool { return w.owners || w.generatedName || w.oneName }

func (w webhook) canChangeIdentity() bool {
	return !w.always && (w.name || w.generatedName || w.owners || w.renames || w.restarts != "" || w.strips)
}

// hides reports whether the operator cannot find the pod of a PodSet whose create got no response, because its name was generated.
func (w webhook) hides(c *call) bool {
	return c.Verb == "create" && c.Slot != "" && w.generatedName
}

// admit changes a new pod of the operator. It returns the error with which admission rejects it.
func (w webhook) admit(pod *corev1.Pod, dryRun bool) error {
	ofAt := isOfAt(pod)
	switch {
	case ofAt && w.policy != nil:
		return w.policy
	case ofAt && dryRun && w.failure != nil:
		return w.failure
	}
	if w.injects && ofAt {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: invariants.InjectedContainer, Image: "proxy"})
	}
	if ofAt {
		w.queue(pod)
	}
	if w.reorders {
		slices.Reverse(pod.Spec.Containers)
	}
	if w.labels {
		pod.Labels = nil
	}
	if w.annotations {
		pod.Annotations = nil
	}
	if !ofAt || w.changesIdentity(dryRun) {
		w.changeIdentity(pod, ofAt)
	}
	return nil
}

// queue adds the gate and the finalizer of the controller that queues pods.
func (w webhook) queue(pod *corev1.Pod) {
	if gate := (corev1.PodSchedulingGate{Name: queueGate}); w.first {
		pod.Spec.SchedulingGates = append([]corev1.PodSchedulingGate{gate}, pod.Spec.SchedulingGates...)
	} else if w.queues {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, gate)
	}
	if w.keeps {
		pod.Finalizers = append(pod.Finalizers, queueFinalizer)
	}
}

func (w webhook) changeIdentity(pod *corev1.Pod, ofAt bool) {
	for i := range pod.Spec.Containers {
		if w.renames {
			pod.Spec.Containers[i].Name = "renamed-" + pod.Spec.Containers[i].Name
		}
	}
	if w.restarts != "" && ofAt {
		pod.Spec.RestartPolicy = w.restarts
	}
	if w.strips && ofAt {
		pod.Spec.SchedulingGates = nil
	}
	switch {
	case w.oneName && !ofAt:
		pod.Name = oneName
	case w.generatedName:
		pod.Name, pod.GenerateName = "", pod.Name+"-"
	case w.name && ofAt:
		pod.Name = changedName + pod.Name
	}
	if w.owners {
		pod.OwnerReferences = nil
	}
}

// isOfAt reports whether a pod of the operator, before admission, is that of an At.
func isOfAt(pod *corev1.Pod) bool { return pod.Spec.RestartPolicy == corev1.RestartPolicyNever }

// changePolicy lets policies and webhooks come or go: those that reject pods, that do not answer dry runs, and that change identities.
func (e *env) changePolicy(random *rand.Rand) {
	e.webhook.sparesAts = random.IntN(2) == 0
	e.webhook.policy, e.webhook.failure = pick(random, policies...), pick(random, failures...)
	e.webhook.opens = pick(random, policies...)
	e.webhook.stops = e.webhook.opens
	e.note("admission answers creates of pods of Ats with %s, dry runs with %s, and changes of pods with %s, and spares them: %t",
		textOf(e.webhook.policy), textOf(e.webhook.failure), textOf(e.webhook.opens), e.webhook.sparesAts)
}

func textOf(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return fmt.Sprint(status.Status().Code)
	}
	return string(metav1.StatusSuccess)
}
