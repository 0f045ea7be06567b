// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

// The horizontal pod autoscaler of Kubernetes scales a PodSet by the CPU time of its pods. It reads and writes the subresource scale, which
// has the selector of the pods.
func TestAutoscaler(t *testing.T) {
	t.Parallel()
	c := startCluster(t) // Until the metrics are available, namespaces cannot be deleted, so no other test may use this cluster.
	metrics := serveMetrics(t, c)
	e := faults.NewEnv(t, c, "F0")
	e.Must(c.StartControllers("horizontal-pod-autoscaler-controller", "--horizontal-pod-autoscaler-sync-period=1s"))
	e.Timeout = 5 * time.Minute // The autoscaler waits before it scales again.
	e.RunKubelet(&faults.Kubelet{})
	e.Supervise()

	set := podSet("shop", 2)
	set.Spec.Template = template("web")
	set.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
	bystander := podSet("bystander", 1) // Its pod does not belong to the PodSet, so its load is ignored.
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: appv1alpha1.GroupVersion.String(), Kind: "PodSet", Name: "shop"},
		MinReplicas:    ptr.To[int32](1), MaxReplicas: 4,
		Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
			Name:   corev1.ResourceCPU,
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](70)},
		}}},
		Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: ptr.To[int32](0)}},
	}}
	metrics.load.Store(140) // 70 % of the requests of two pods
	e.Create(set, bystander, autoscaler)
	e.Settle()
	for _, step := range []struct{ load, want int32 }{{210, 3}, {10000, 4}, {140, 2}, {0, 1}} {
		metrics.load.Store(step.load)
		e.WaitForSet("P3", "shop", func(s *appv1alpha1.PodSet) bool {
			return *s.Spec.Replicas == step.want && s.Status.ReadyReplicas == step.want
		})
	}
	e.Must(c.Admin.Get(e.Context(), client.ObjectKeyFromObject(autoscaler), autoscaler))
	t.Logf("%+v", autoscaler.Status)
	e.ExpectIdle()
}

// metricsServer stands in for metrics-server. The requested pods share a load, in millicores.
type metricsServer struct {
	admin client.Client
	load  atomic.Int32
}

const metricsPath = "/apis/metrics.k8s.io/v1beta1"

// serveMetrics adds the resource metrics to the API of a cluster.
func serveMetrics(t *testing.T, c *faults.Cluster) *metricsServer {
	t.Helper()
	m := &metricsServer{admin: c.Admin}
	server := httptest.NewTLSServer(m)
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(address.Port(), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "metrics", Namespace: corev1.NamespaceDefault},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}
	api := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1beta1.metrics.k8s.io"},
		"spec": map[string]any{
			"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
			"insecureSkipTLSVerify": true, "service": map[string]any{"name": service.Name, "namespace": service.Namespace, "port": port},
		},
	}}
	for _, obj := range []client.Object{service, api} {
		if err := c.Admin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (m *metricsServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == metricsPath:
		reply(w, metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "metrics.k8s.io/v1beta1",
			APIResources: []metav1.APIResource{{Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}}},
		})
	case strings.HasPrefix(r.URL.Path, metricsPath+"/namespaces/"):
		m.list(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (m *metricsServer) list(w http.ResponseWriter, r *http.Request) {
	namespace, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, metricsPath+"/namespaces/"), "/")
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	pods := &corev1.PodList{}
	if err := m.admin.List(r.Context(), pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	remaining := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	items := []any{}
	for _, pod := range remaining {
		each := resource.NewMilliQuantity(int64(m.load.Load())/int64(len(remaining)), resource.DecimalSI)
		items = append(items, map[string]any{
			"metadata": map[string]any{"name": pod.Name, "namespace": pod.Namespace}, "timestamp": metav1.Now(), "window": "1s",
			"containers": []any{map[string]any{"name": pod.Spec.Containers[0].Name, "usage": map[string]any{"cpu": each}}},
		})
	}
	reply(w, map[string]any{"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": map[string]any{}, "items": items})
}

func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // The client has gone.
}
