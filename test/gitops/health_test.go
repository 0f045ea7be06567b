// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	lua "github.com/yuin/gopher-lua"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/testutil"
)

// situation is an object with its status, and the conclusions that tools must draw from it.
type situation struct {
	object  client.Object
	kstatus status.Status
	argo    string
	message string // of Argo CD
}

// unseen is the observedGeneration of an object that the operator has not seen yet, from a default of the CRD.
const unseen = -1

func TestHealth(t *testing.T) {
	for kind, situations := range map[string]map[string]situation{"PodSet": podSets(), "At": ats()} {
		situations["the operator has not seen it"] = situation{
			object: newObject(kind, unseen, nil), kstatus: status.InProgressStatus, argo: "Progressing", message: "waiting for the operator",
		}
		ready := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
		situations["the operator has not seen an edit"] = situation{
			object: newObject(kind, 1, ready), kstatus: status.InProgressStatus, argo: "Progressing", message: "waiting for the operator",
		}
		script := healthScript(t, kind)
		for name, s := range situations {
			t.Run(kind+": "+name, func(t *testing.T) {
				object := &unstructured.Unstructured{}
				var err error
				if object.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(s.object); err != nil {
					t.Fatal(err)
				}
				result, err := status.Compute(object)
				if err != nil {
					t.Fatal(err)
				}
				if result.Status != s.kstatus {
					t.Errorf("kstatus is %s (%s), want %s", result.Status, result.Message, s.kstatus)
				}
				if s.argo == "" {
					return // Argo CD does not ask the script.
				}
				health := runHealthScript(t, script, object.Object)
				if diff := cmp.Diff([]string{s.argo, s.message}, health); diff != "" {
					t.Errorf("health for Argo CD (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// newObject returns an object of generation 2 with this observedGeneration and these conditions.
func newObject(kind string, observed int64, conditions []metav1.Condition) client.Object {
	if kind == "PodSet" {
		return testutil.MakePodSet("a").Generation(2).Status(appv1alpha1.PodSetStatus{ObservedGeneration: observed, Conditions: conditions}).Obj()
	}
	return testutil.MakeAt("a").Generation(2).Status(cnatv1alpha1.AtStatus{ObservedGeneration: observed, Conditions: conditions}).Obj()
}

// healthScript returns the health check of a kind, under the key that Argo CD reads.
func healthScript(t *testing.T, kind string) string {
	t.Helper()
	data, err := os.ReadFile("../../config/components/argocd/argocd-cm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var patch struct{ Data map[string]string }
	if err := yaml.UnmarshalStrict(data, &patch); err != nil {
		t.Fatal(err)
	}
	group := map[string]string{"PodSet": appv1alpha1.GroupVersion.Group, "At": cnatv1alpha1.GroupVersion.Group}[kind]
	return patch.Data["resource.customizations.health."+group+"_"+kind]
}

// runScript runs a script as Argo CD does by default: with the object as the global obj, the libraries base, package, and
// table, os on request, and a limit of one second. A script that does not return a table is an error.
func runScript(t *testing.T, script string, object map[string]any) *lua.LTable {
	t.Helper()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	t.Cleanup(state.Close)
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	state.PreloadModule(lua.OsLibName, lua.OpenOs)               // Argo CD has only its functions time and date.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // Argo CD gives it a second. A slow machine must not matter here.
	defer cancel()
	state.SetContext(ctx)
	state.SetGlobal("obj", luaValue(state, object))
	if err := state.DoString(script); err != nil {
		t.Fatal(err)
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returns a %s, want a table", state.Get(-1).Type())
	}
	return table
}

// runHealthScript returns the health status and the message of an object.
func runHealthScript(t *testing.T, script string, object map[string]any) []string {
	t.Helper()
	table := runScript(t, script, object)
	health := []string{lua.LVAsString(table.RawGetString("status")), lua.LVAsString(table.RawGetString("message"))}
	switch health[0] {
	case "Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown":
	default:
		t.Errorf("Argo CD does not have a health status %q", health[0])
	}
	return health
}

// luaValue converts a value of an unstructured object as Argo CD does.
func luaValue(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case bool:
		return lua.LBool(v)
	case float64:
		return lua.LNumber(v)
	case int64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case []any:
		table := state.NewTable()
		for _, item := range v {
			table.Append(luaValue(state, item))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, item := range v {
			table.RawSetString(key, luaValue(state, item))
		}
		return table
	}
	return lua.LNil
}
