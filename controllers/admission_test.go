// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/spec"
)

const (
	podSetYAML = "{apiVersion: app.example.com/v1alpha1, kind: PodSet, metadata: {name: %s}, spec: %s}"
	atYAML     = "{apiVersion: cnat.d2iq.com/v1alpha1, kind: At, metadata: {name: %s}, spec: %s}"
)

// try creates an object from YAML with a dry run. It returns the object as it would be stored, or the error of the API
// server.
func try(t *testing.T, format, name, spec string) (*unstructured.Unstructured, error) {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, format, name, spec), &obj.Object); err != nil {
		t.Fatal(err)
	}
	obj.SetNamespace("default")
	return obj, admin.Create(t.Context(), obj, client.DryRunAll)
}

func TestAdmission(t *testing.T) {
	pod := func(rest string) string {
		return `{template: {spec: {containers: [{name: main, image: x}]` + rest + `}}}`
	}
	podWith := func(fields string) string {
		return "{template: {spec: {containers: [{name: main, image: x, " + fields + "}]}}}"
	}
	for title, tc := range map[string]struct{ format, name, spec, want string }{
		"replicas 0":                    {podSetYAML, "a", "{replicas: 0}", "spec.replicas: Invalid value: 0: spec.replicas in body should be greater than or equal to 1"},
		"replicas 11":                   {podSetYAML, "a", "{replicas: 11}", "should be less than or equal to 10"},
		"replicas -1":                   {podSetYAML, "a", "{replicas: -1}", "should be greater than or equal to 1"},
		"replicas 2^31":                 {podSetYAML, "a", "{replicas: 2147483648}", "spec.replicas"},
		"replicas three":                {podSetYAML, "a", "{replicas: three}", `spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer`},
		"a PodSet's name of 64":         {podSetYAML, strings.Repeat("a", 64), "{}", "metadata.name must be at most 63 characters: it becomes the value of a label on every pod"},
		"a template without containers": {podSetYAML, "a", "{template: {}}", "spec.template.spec.containers must name at least one container"},
		"a PodSet with restartPolicy":   {podSetYAML, "a", pod(", restartPolicy: Never"), "spec.template.spec.restartPolicy must be Always, or absent"},
		"a port of 33 bits":             {podSetYAML, "a", podWith("livenessProbe: {httpGet: {port: 3000000000}}"), "port in body should be less than or equal to 2147483647"},
		"an exponent with a fraction":   {podSetYAML, "a", podWith(`resources: {limits: {cpu: "1e1.5"}}`), "cpu in body should match"},
		"a quantity of a billion zeros": {podSetYAML, "a", podWith(`resources: {limits: {cpu: "1e-900000000"}}`), "cpu in body should match"},
		"a template without an image":   {podSetYAML, "a", "{template: {spec: {containers: [{name: main}]}}}", "spec.template.spec.containers[0].image: Required value"},
		"an empty image":                {atYAML, "a", `{schedule: now, template: {spec: {containers: [{name: main, image: ""}]}}}`, "containers[0].image in body should be at least 1 chars long"},
		"an init container of no image": {atYAML, "a", "{schedule: now, template: {spec: {containers: [{name: main, image: x}], initContainers: [{name: init}]}}}", "initContainers[0].image: Required value"},
		"a container in upper case":     {podSetYAML, "a", "{template: {spec: {containers: [{name: Main, image: x}]}}}", "containers[0].name in body should match"},
		"ephemeral containers":          {podSetYAML, "a", pod(", ephemeralContainers: [{name: debug, image: x}]"), "spec.template.spec.ephemeralContainers: Too many: 1: must have at most 0 items"},
		"a creation time of no day":     {podSetYAML, "a", `{template: {metadata: {creationTimestamp: "2030-02-30T00:00:00Z"}, spec: {containers: [{name: main, image: x}]}}}`, "creationTimestamp"},
		"maxUnavailable 0":              {podSetYAML, "a", "{updateStrategy: {rollingUpdate: {maxUnavailable: 0}}}", "must be a number from 1 to 10, or a percentage from 1% to 100%"},
		"maxUnavailable 101%":           {podSetYAML, "a", "{updateStrategy: {rollingUpdate: {maxUnavailable: 101%}}}", "a percentage from 1% to 100%"},
		"an unknown strategy":           {podSetYAML, "a", "{updateStrategy: {type: Recreate}}", `supported values: "RollingUpdate", "OnDelete"`},
		"rollingUpdate with OnDelete":   {podSetYAML, "a", "{updateStrategy: {type: OnDelete, rollingUpdate: {}}}", "spec.updateStrategy.rollingUpdate goes with type RollingUpdate only"},
		"a progress deadline of 0":      {podSetYAML, "a", "{progressDeadlineSeconds: 0}", "spec.progressDeadlineSeconds in body should be greater than or equal to 1"},
		"a deadline that is too early":  {podSetYAML, "a", "{progressDeadlineSeconds: 10, minReadySeconds: 10}", "spec.progressDeadlineSeconds, or its default 600, must be greater than spec.minReadySeconds"},
		"the default is too early":      {podSetYAML, "a", "{minReadySeconds: 600}", "spec.progressDeadlineSeconds, or its default 600, must be greater than spec.minReadySeconds"},
		"an At without a schedule":      {atYAML, "a", "{command: echo}", "spec.schedule: Required value"},
		"schedule tomorrow":             {atYAML, "a", "{schedule: tomorrow, command: echo}", "2030-01-30T10:02:00Z"},
		"the 30th of February":          {atYAML, "a", `{schedule: "2030-02-30T00:00:00Z", command: echo}`, "schedule"},
		"an empty schedule":             {atYAML, "a", `{schedule: "", command: echo}`, "spec.schedule"},
		"an empty command":              {atYAML, "a", `{schedule: now, command: ""}`, "spec.command"},
		"an unbalanced quote":           {atYAML, "a", `{schedule: now, command: "echo 'a"}`, "quote"},
		"an At with restartPolicy":      {atYAML, "a", "{schedule: now, command: echo, template: {spec: {containers: [{name: main, image: x}], restartPolicy: Always}}}", "spec.template.spec.restartPolicy must be Never, or absent"},
		"a negative deadline":           {atYAML, "a", "{schedule: now, command: echo, startingDeadlineSeconds: -1}", "spec.startingDeadlineSeconds"},
		"no time to run":                {atYAML, "a", "{schedule: now, command: echo, activeDeadlineSeconds: 0}", "spec.activeDeadlineSeconds"},
		"no deadline of a drain":        {atYAML, "a", "{schedule: now, command: echo, uninterrupted: true}", "spec.activeDeadlineSeconds must be at most 86400 (a day) with spec.uninterrupted"},
		"eleven retries":                {atYAML, "a", "{schedule: now, command: echo, backoffLimit: 11}", "spec.backoffLimit"},
		"a negative time to live":       {atYAML, "a", "{schedule: now, command: echo, ttlSecondsAfterFinished: -1}", "spec.ttlSecondsAfterFinished"},
	} {
		_, err := try(t, tc.format, tc.name, tc.spec)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, wanted %q", title, err, tc.want)
		}
	}
}

// A rule on an optional field is not evaluated when the field is removed. So each rule that needs more than one field
// is on their parent.
func TestAdmission_edits(t *testing.T) {
	set := podSet(newNamespace(t), "a", 1)
	set.Annotations = map[string]string{appv1alpha1.AnnotationPaused: "true"}
	set.Spec.MinReadySeconds, set.Spec.ProgressDeadlineSeconds = 700, 800
	set.Spec.UpdateStrategy.RollingUpdate = &appv1alpha1.RollingUpdateStrategy{MaxUnavailable: ptr.To(intstr.FromInt32(2))}
	create(t, set)
	for title, tc := range map[string]struct{ patch, want string }{
		"the deadline is removed, and its default is too early":    {`{"progressDeadlineSeconds":null}`, "must be greater than spec.minReadySeconds"},
		"the deadline and minReadySeconds are removed":             {`{"progressDeadlineSeconds":null,"minReadySeconds":null}`, ""},
		"minReadySeconds is removed":                               {`{"minReadySeconds":null}`, ""},
		"minReadySeconds is more than the deadline":                {`{"minReadySeconds":800}`, "must be greater than spec.minReadySeconds"},
		"the deadline is the longest":                              {`{"progressDeadlineSeconds":2147483647,"minReadySeconds":86400}`, ""},
		"the type is removed, which is RollingUpdate by default":   {`{"updateStrategy":{"type":null}}`, ""},
		"the type is OnDelete, and the limit stays":                {`{"updateStrategy":{"type":"OnDelete"}}`, "goes with type RollingUpdate only"},
		"the type is OnDelete, and the limit is removed":           {`{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}`, ""},
		"the update strategy is removed":                           {`{"updateStrategy":null}`, ""},
		"the whole spec is removed":                                {`null`, ""},
		"the number of pods is removed":                            {`{"replicas":null}`, ""},
		"the replacement policy is set and the template is absent": {`{"podReplacementPolicy":"TerminationComplete","template":null}`, ""},
	} {
		err := admin.Patch(t.Context(), set.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":`+tc.patch+`}`)), client.DryRunAll)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, wanted %q", title, err, tc.want)
		}
	}
}

// TestAdmission_commands has the rows of TestCommandProblem in internal/at/spec.
func TestAdmission_commands(t *testing.T) {
	const (
		missing = "spec.command: Required value: spec.command is required without a template: set spec.command to the program to run, or set spec.template"
		// Kubernetes 1.31 adds "object" before the message.
		twice = "spec.template.spec.containers[0] must not set command or args, because it runs spec.command: remove them, or remove spec.command"
	)
	for title, tc := range map[string]struct{ spec, want string }{
		"neither command nor template": {"", missing},
		"an empty template":            {", template: {}", "spec.template.spec.containers must name at least one container"},
		"two commands":                 {", command: echo, template: {spec: {containers: [{name: main, image: x, command: [own]}]}}", twice},
		"a command and args":           {", command: echo, template: {spec: {containers: [{name: main, image: x, args: [own]}]}}", twice},
		"a template without a command": {", template: {spec: {containers: [{name: main, image: x}]}}", ""},
		"the template's own command":   {", template: {spec: {containers: [{name: main, image: x, command: [own]}]}}", ""},
		"the template's own args":      {", template: {spec: {containers: [{name: main, image: x, args: [own]}]}}", ""},
	} {
		_, err := try(t, atYAML, "a", "{schedule: now"+tc.spec+"}")
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, wanted %q", title, err, tc.want)
		}
	}
}

// Before the operator has seen an object, its status says so: kubectl get shows the reason of the condition Ready, and
// kstatus compares observedGeneration with the generation.
func TestAdmission_status(t *testing.T) {
	for _, tc := range []struct{ format, spec, reason string }{
		{podSetYAML, "{}", appv1alpha1.ReasonAwaitingOperator}, {atYAML, "{schedule: now, command: echo}", cnatv1alpha1.ReasonAwaitingOperator},
	} {
		obj, err := try(t, tc.format, "a", tc.spec)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Status cnatv1alpha1.AtStatus `json:"status"`
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &got); err != nil {
			t.Fatal(err)
		}
		want := cnatv1alpha1.AtStatus{ObservedGeneration: -1, Conditions: []metav1.Condition{{
			Type: "Ready", Status: metav1.ConditionUnknown, Reason: tc.reason, LastTransitionTime: metav1.NewTime(time.Unix(0, 0)),
			Message: "no operator has seen this object: check that podset-operator runs, and that it serves this namespace",
		}}}
		if diff := cmp.Diff(want, got.Status); diff != "" {
			t.Errorf("%s (-want +got): %s", obj.GetKind(), diff)
		}
	}
}

// TestAdmission_templates applies templates that would break a promise of their kind, and similar ones that keep it.
func TestAdmission_templates(t *testing.T) {
	const (
		once     = "an At runs its command once"
		kept     = "a PodSet keeps its pods running"
		restart  = "restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [1]}}]"
		restarts = "restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [1]}}]"
	)
	main := func(fields string) string { return "containers: [{name: main, image: x, " + fields + "}]" }
	second := func(fields string) string {
		return "containers: [{name: main, image: x}, {name: second, image: x, " + fields + "}]"
	}
	initial := func(fields string) string {
		return "containers: [{name: main, image: x}], initContainers: [{name: first, image: x}, {name: init, image: x, " + fields + "}]"
	}
	for title, tc := range map[string]struct{ spec, at, podSet string }{
		"a main container with Always":          {main("restartPolicy: Always"), once, ""},
		"a main container with OnFailure":       {main("restartPolicy: OnFailure"), once, kept},
		"a main container with Never":           {main("restartPolicy: Never"), "", kept},
		"a main container with a rule":          {main("restartPolicy: Never, " + restart), once, kept},
		"a main container that restarts all":    {main("restartPolicy: Always, " + restarts), once, kept},
		"a second container with Always":        {second("restartPolicy: Always"), once, ""},
		"a second container with OnFailure":     {second("restartPolicy: OnFailure"), once, kept},
		"a second container with Never":         {second("restartPolicy: Never"), "", kept},
		"a second container that restarts all":  {second("restartPolicy: Never, " + restarts), once, kept},
		"a sidecar":                             {initial("restartPolicy: Always"), "", ""},
		"an init container that is tried again": {initial("restartPolicy: OnFailure"), "", ""},
		"an init container with Never":          {initial("restartPolicy: Never"), "", kept},
		"an init container with a rule":         {initial("restartPolicy: Never, " + restart), once, kept},
		"an init container that restarts all":   {initial("restartPolicy: Never, " + restarts), once, kept},
		"a sidecar that restarts all":           {initial("restartPolicy: Always, " + restarts), once, kept},
		"a deadline of the pod":                 {main("stdin: false") + ", activeDeadlineSeconds: 5", "", kept},
		"a gate, a host name, a priority":       {main("tty: true") + ", schedulingGates: [{name: a.b/c}], hostname: host, priority: 1", "", ""},
		"a node":                                {main("tty: true") + ", nodeName: worker", "use nodeSelector with the label kubernetes.io/hostname", ""},
	} {
		for kind, check := range map[string]struct{ format, spec, want string }{
			"At":     {atYAML, "{schedule: now, command: echo, template: {spec: {" + tc.spec + "}}}", tc.at},
			"PodSet": {podSetYAML, "{template: {spec: {" + tc.spec + "}}}", tc.podSet},
		} {
			_, err := try(t, check.format, "a", check.spec)
			if (err == nil) != (check.want == "") || err != nil && !strings.Contains(err.Error(), check.want) {
				t.Errorf("%s in %s: got %v, wanted %q", title, kind, err, check.want)
			}
		}
	}
}

func TestAdmission_defaults(t *testing.T) {
	for title, tc := range map[string]struct{ format, spec, want string }{
		"a PodSet without a spec": {podSetYAML, "{}", `{"replicas":1,"updateStrategy":{"type":"RollingUpdate"}}`},
		"a rolling update":        {podSetYAML, "{replicas: 2, updateStrategy: {rollingUpdate: {}}}", `{"replicas":2,"updateStrategy":{"rollingUpdate":{"maxUnavailable":1},"type":"RollingUpdate"}}`},
		"OnDelete":                {podSetYAML, "{updateStrategy: {type: OnDelete}}", `{"replicas":1,"updateStrategy":{"type":"OnDelete"}}`},
		"an At":                   {atYAML, "{schedule: now, command: echo}", `{"backoffLimit":0,"command":"echo","schedule":"now","suspend":false}`},
		"labels of a template":    {podSetYAML, "{template: {metadata: {labels: {tier: web}}, spec: {containers: [{name: a, image: x, ports: [{containerPort: 80}]}]}}}", `{"replicas":1,"template":{"metadata":{"labels":{"tier":"web"}},"spec":{"containers":[{"image":"x","name":"a","ports":[{"containerPort":80}]}]}},"updateStrategy":{"type":"RollingUpdate"}}`},
	} {
		obj, err := try(t, tc.format, "a", tc.spec)
		if err != nil {
			t.Errorf("%s: %v", title, err)
			continue
		}
		got, err := json.Marshal(obj.Object["spec"])
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != tc.want {
			t.Errorf("%s: got %s, wanted %s", title, got, tc.want)
		}
	}
}

// TestAdmission_deployment has templates that the API server accepts in a Deployment although they have duplicate keys
// in lists, and the output of older versions of kubectl.
func TestAdmission_deployment(t *testing.T) {
	const template = `{template: {metadata: {creationTimestamp: null}, spec: {
		imagePullSecrets: [{name: a}, {name: a}], hostAliases: [{ip: 10.0.0.1, hostnames: [a]}, {ip: 10.0.0.1, hostnames: [b]}],
		volumes: [{name: v, ephemeral: {volumeClaimTemplate: {metadata: {creationTimestamp: null}, spec: {
			accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}],
		containers: [{name: main, image: x, env: [{name: A, value: "1"}, {name: A, value: "2"}],
			ports: [{name: web, containerPort: 80}, {name: metrics, containerPort: 80}]}]}}}`
	for _, tc := range []struct{ format, spec string }{{podSetYAML, template}, {atYAML, "{schedule: now, " + template[1:]}} {
		if _, err := try(t, tc.format, "a", tc.spec); err != nil {
			t.Error(err)
		}
	}
}

func TestAt_longNames(t *testing.T) {
	for _, name := range []string{strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 253), "0day", "a.b-c.d"} {
		obj := newAt(newNamespace(t), name, "now", "true")
		create(t, obj)
		podOf(t, obj, spec.PodName(obj, 0))
	}
}

// The API server drops template fields that a cluster does not have by default. kubectl asks it to reject them.
func TestAdmission_unknownFields(t *testing.T) {
	const spec = "{template: {spec: {schedulingGroup: {podGroupName: x}, containers: [{name: main, image: x, lifecycle: {stopSignal: SIGUSR1}}]}}}"
	stored, err := try(t, podSetYAML, "a", spec)
	if err != nil {
		t.Fatal(err)
	}
	template, _, _ := unstructured.NestedMap(stored.Object, "spec", "template", "spec")
	if text := fmt.Sprint(template); strings.Contains(text, "schedulingGroup") || strings.Contains(text, "stopSignal") {
		t.Errorf("the template has a field that is off by default: %s", text)
	}
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, podSetYAML, "a", spec), &obj.Object); err != nil {
		t.Fatal(err)
	}
	obj.SetNamespace("default")
	err = admin.Create(t.Context(), obj, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
	for _, field := range []string{"spec.template.spec.schedulingGroup", "spec.template.spec.containers[0].lifecycle.stopSignal"} {
		if want := fmt.Sprintf("unknown field %q", field); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("strict validation: got %v, want %s", err, want)
		}
	}
}
