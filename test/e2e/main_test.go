// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// The tests run one after the other on one cluster. Each installs the operator and removes it.
var (
	root    string       // the directory of the repository
	cluster *rest.Config // with the permissions of a cluster administrator
	admin   client.Client
	scheme  = runtime.NewScheme()
	// previous and next are the two versions of the operator. The others are next with one change of a CRD: a smaller maximum, another
	// message of a rule, and a larger maximum with one more value.
	previous, next, smaller, reworded, wider release
	kubectlImage                             string // for `helm test`
)

// release contains the images of one version that images.sh pushed.
type release struct {
	version string
	manager string
	bundle  string
	catalog string // contains this version and earlier ones
	dir     string // contains bundle/
}

func (r release) csv() string { return operatorName + ".v" + r.version }

const (
	operatorName   = "podset-operator"
	deploymentName = "podset-operator-controller-manager"
	// partOf is the label of the namespaces of the tests.
	partOf = "app.kubernetes.io/part-of=podset-operator-e2e"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	if err := prepare(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	code := m.Run()
	if err := removeLeftovers(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

// prepare checks that the tests can run, cleans up after an interrupted run, and pushes the images.
func prepare(ctx context.Context) (err error) {
	if root, err = filepath.Abs("../.."); err != nil {
		return err
	}
	for _, name := range []string{"KUBECONFIG", "E2E_REGISTRY"} {
		if os.Getenv(name) == "" {
			return fmt.Errorf("%s is not set: run `make test-e2e`, or see test/e2e/doc.go", name)
		}
	}
	if err := os.Setenv("PATH", filepath.Join(root, "bin")+":"+os.Getenv("PATH")); err != nil {
		return err
	}
	for _, tool := range []string{"make", "kubectl", "kubectl-at", "operator-sdk", "opm", "kustomize"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w: `make test-e2e` builds it", err)
		}
	}
	if err := connect(ctx); err != nil {
		return err
	}
	if err := removeLeftovers(ctx); err != nil {
		return err
	}
	for _, name := range crdNames {
		err := admin.Get(ctx, client.ObjectKey{Name: name}, &apiextensionsv1.CustomResourceDefinition{})
		if !apierrors.IsNotFound(err) {
			return errors.Join(err, fmt.Errorf("the cluster already has the CRD %s: the tests would delete it and its objects", name))
		}
	}
	return pushImages()
}

func connect(ctx context.Context) (err error) {
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, appv1alpha1.AddToScheme, cnatv1alpha1.AddToScheme,
		operatorsv1.AddToScheme, operatorsv1alpha1.AddToScheme, operatorsv2.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	if cluster, err = config.GetConfig(); err != nil {
		return err
	}
	cluster.QPS = -1
	if admin, err = client.New(cluster, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	if err := admin.List(ctx, &operatorsv1alpha1.SubscriptionList{}, client.Limit(1)); err != nil {
		return fmt.Errorf("the cluster has no Operator Lifecycle Manager: %w", err)
	}
	return nil
}

// removeLeftovers removes every trace of the tests.
func removeLeftovers(ctx context.Context) error {
	namespaces := &corev1.NamespaceList{}
	if err := admin.List(ctx, namespaces, client.MatchingLabels(labelled(partOf))); err != nil || len(namespaces.Items) == 0 {
		return err
	}
	commands := []string{"! kubectl get crd clusterextensions.olm.operatorframework.io || kubectl delete clusterextensions,clustercatalogs -l " + partOf}
	for _, namespace := range namespaces.Items {
		commands = append(commands, "kubectl delete subscriptions,csv,catalogsources,operatorgroups --all --ignore-not-found -n "+namespace.Name)
	}
	commands = append(commands, "make undeploy", "kubectl delete namespace --ignore-not-found --timeout 3m -l "+partOf, "kubectl delete crd -l "+partOf)
	for _, namespace := range namespaces.Items { // OLM sometimes does not delete its roles for an OperatorGroup.
		commands = append(commands, "kubectl delete clusterroles -l olm.owner.kind=OperatorGroup,olm.owner.namespace="+namespace.Name)
	}
	for _, command := range commands {
		if output, err := execute("", command); err != nil {
			return fmt.Errorf("cleaning up: %s: %w\n%s", command, err, output)
		}
	}
	return nil
}

func pushImages() error {
	output, err := execute("", "test/e2e/images.sh")
	if err != nil {
		return fmt.Errorf("building and pushing the images: %w\n%s", err, output)
	}
	values := map[string]string{}
	for line := range strings.Lines(output) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
			values[key] = value
		}
	}
	read := func(name string) release {
		return release{
			version: values[name+".version"], manager: values[name+".manager"], bundle: values[name+".bundle"],
			catalog: values[name+".catalog"], dir: filepath.Join("bin/e2e", name),
		}
	}
	kubectlImage = values["kubectl"]
	previous, next = read("old"), read("new")
	smaller, reworded, wider = read("maximum"), read("message"), read("wider")
	fmt.Printf("from %s to %s\n", previous.version, next.version)
	return nil
}
